#include <chrono>
#include <limits>
#include <map>

#include "bindings/json.h"
#include "bindings/module.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/interrupt.h"
#include "curnm/base/parallel.h"
#include "curnm/data/append.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/measured.h"
#include "curnm/prediction/predictor.h"
#include "curnm/training/session.h"

namespace curnm::python {
namespace {

using nlohmann::ordered_json;

/// Answers questions about links; the events so far may grow.
class Answers {
 public:
  Answers(TrainedModel model, Dataset events)
      : current_(std::make_shared<const Predictor>(std::move(model), std::move(events))) {}

  /// The predictor of now: it stays as it is while events are appended.
  std::shared_ptr<const Predictor> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  void append(const NewEvents& events) {
    const std::lock_guard lock(append_mutex_);  // one at a time; questions go on meanwhile
    const std::shared_ptr<const Predictor> before = current();
    auto after = std::make_shared<const Predictor>(before->model(),
                                                   curnm::append(before->dataset(), events));
    const std::lock_guard replacing(mutex_);
    current_ = std::move(after);
  }

 private:
  mutable std::mutex mutex_;
  std::mutex append_mutex_;
  std::shared_ptr<const Predictor> current_;
};

/// A run, or a file that was exported from one, with its network: the given one, or from where it
/// was.
std::shared_ptr<Answers> load_answers(const std::string& path,
                                      const std::shared_ptr<const Network>& network) {
  const py::gil_scoped_release release;
  if (is_model_file(path)) {
    TrainedModel model = load_model(path);
    if (!network && model.data.empty()) {
      fail("{} was trained on arrays: give its network as data", path);
    }
    Dataset dataset =
        network ? network->dataset
                : open_dataset(model.data, is_raw(model.data) ? model.read : ReadOptions{});
    return std::make_shared<Answers>(std::move(model), std::move(dataset));
  }
  const RunFolder folder(path);
  const RunSpec spec = read_run(folder, RunUse::kTest);
  if (!network && spec.data.empty())
    fail("{} was trained on arrays: give its network as data", path);
  Dataset dataset = network ? network->dataset : open_run_data(spec, "", /*grown=*/true);
  TrainedModel model = read_trained_model(folder, spec, dataset);
  return std::make_shared<Answers>(std::move(model), std::move(dataset));
}

Nodes find_nodes(const Answers& answers, const std::vector<std::string>& names, bool as_source) {
  const std::shared_ptr<const Predictor> predictor = answers.current();
  const EventLog& log = predictor->dataset().events;
  const NodeId like = (as_source ? log.src : log.dst).front();
  Nodes found(std::ssize(names));
  std::int64_t* next = found.mutable_data();
  const py::gil_scoped_release release;
  for (const std::string& name : names) *next++ = predictor->find(name, like);
  return found;
}

Floats score(const Answers& answers, const Nodes& src, const Nodes& dst, const Times& time,
             const std::string& question) {
  const std::shared_ptr<const Predictor> predictor = answers.current();
  const PairArrays arrays(src, dst, time, predictor->dataset().events.num_nodes);
  const auto asked = choice<Question>("question", question);
  std::vector<float> scores;
  {
    const py::gil_scoped_release release;
    scores = predictor->score(arrays.pairs(), asked);
  }
  return Floats(std::ssize(scores), scores.data());
}

/// Why each pair scores as it does, as dictionaries.
py::list explain(const Answers& answers, const Nodes& src, const Nodes& dst, const Times& time,
                 const std::string& question) {
  const std::shared_ptr<const Predictor> predictor = answers.current();
  const Dataset& dataset = predictor->dataset();
  const PairArrays arrays(src, dst, time, dataset.events.num_nodes);
  const auto asked = choice<Question>("question", question);
  ordered_json all = ordered_json::array();
  {
    const py::gil_scoped_release release;
    const Pairs pairs = arrays.pairs();
    const std::vector<Explanation> found = predictor->explain(pairs, asked);
    const TimeUnit unit = TimeUnit::of(dataset.events);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ordered_json one = {{"logit", found[i].logit}};
      one.update(to_json(found[i], in_words(found[i].facts, dataset.ids.name(pairs.src[i]),
                                            dataset.ids.name(pairs.dst[i]), pairs.time[i], unit)));
      all.push_back(std::move(one));
    }
  }
  py::list list;
  for (const ordered_json& one : all) list.append(to_python(one));
  return list;
}

/// The rows of each distinct time, earliest first: a batch of questions each.
std::vector<std::vector<std::size_t>> rows_by_time(std::span<const Timestamp> times) {
  std::map<Timestamp, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < times.size(); ++i) rows[times[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [time, group] : rows) groups.push_back(std::move(group));
  return groups;
}

/// The k likeliest destinations of each source, [n,k]: nodes, filled up with -1, and logits.
py::tuple topk(const Answers& answers, const Nodes& src, const Times& time, std::int64_t k,
               bool exclude_seen, const std::string& question) {
  const std::shared_ptr<const Predictor> predictor = answers.current();
  const NodeId num_nodes = predictor->dataset().events.num_nodes;
  const std::vector<NodeId> sources = to_nodes(src, num_nodes, "src");
  const std::span<const Timestamp> times = to_times(time, "time");
  if (sources.size() != times.size()) fail("{} sources and {} times", sources.size(), times.size());
  if (k < 1) fail("k is {}: it must be at least 1", k);
  k = std::min<std::int64_t>(k, num_nodes);
  const auto asked = choice<Question>("question", question);
  const auto rows = std::ssize(sources);
  Nodes nodes({rows, k});
  Floats logits({rows, k});
  std::fill_n(nodes.mutable_data(), nodes.size(), std::int64_t{kNoNode});
  std::fill_n(logits.mutable_data(), logits.size(), -std::numeric_limits<float>::infinity());
  std::int64_t* node = nodes.mutable_data();
  float* logit = logits.mutable_data();
  {
    const py::gil_scoped_release release;
    const TopQuery query{
        .k = k, .question = asked, .seen = exclude_seen ? Seen::kExcluded : Seen::kIncluded};
    for (const std::vector<std::size_t>& rows_at : rows_by_time(times)) {
      std::vector<NodeId> asking;
      for (const std::size_t row : rows_at) asking.push_back(sources[row]);
      std::size_t next = 0;
      predictor->top(asking, times[rows_at.front()], query,
                     [&](NodeId, std::span<const Prediction> best) {
                       std::size_t at = rows_at[next++] * index(k);
                       for (const Prediction& found : best) {
                         node[at] = found.node;
                         logit[at++] = found.logit;
                       }
                     });
    }
  }
  return py::make_tuple(nodes, logits);
}

void append(Answers& answers, const std::vector<std::string>& src,
            const std::vector<std::string>& dst, const Times& time,
            const std::optional<Floats>& features) {
  const std::span<const Timestamp> times = to_times(time, "time");
  NewEvents events{.src = src, .dst = dst, .time = times};
  if (features) {
    if (features->ndim() != 2) fail("features has {} dimensions instead of two", features->ndim());
    const float* values = features->data();
    events.features = {std::vector<float>(values, values + features->size()), features->shape(1)};
  }
  const py::gil_scoped_release release;
  answers.append(events);
}

void bind_prediction(py::module_& module) {
  py::class_<Answers, std::shared_ptr<Answers>>(module, "Answers")
      .def_static("load", &load_answers, py::arg("path"), py::arg("network"))
      .def("find", &find_nodes, py::arg("names"), py::arg("as_source"))
      .def("score", &score, py::arg("src").noconvert(), py::arg("dst").noconvert(),
           py::arg("time").noconvert(), py::arg("question"))
      .def("explain", &explain, py::arg("src").noconvert(), py::arg("dst").noconvert(),
           py::arg("time").noconvert(), py::arg("question"))
      .def("topk", &topk, py::arg("src").noconvert(), py::arg("time").noconvert(), py::arg("k"),
           py::arg("exclude_seen"), py::arg("question"))
      .def("append", &append, py::arg("src"), py::arg("dst"), py::arg("time").noconvert(),
           py::arg("features").noconvert())
      .def("network",
           [](const Answers& answers) {
             return std::make_shared<Network>(answers.current()->dataset(), "", ReadOptions{});
           })
      .def_property_readonly(
          "outputs", [](const Answers& answers) { return answers.current()->model().outputs; })
      .def(
          "save",
          [](const Answers& answers, const std::string& file) {
            save_model(answers.current()->model(), file);
          },
          py::arg("file"), py::call_guard<py::gil_scoped_release>());
}

/// Ctrl-C: the exception of Python that ends the call. Asked for far less often than a batch takes.
void check_signals() {
  using Clock = std::chrono::steady_clock;
  static thread_local Clock::time_point last;
  const Clock::time_point now = Clock::now();
  if (now - last < std::chrono::milliseconds(100)) return;
  last = now;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// Tells Python about a training, and writes its folder where there is one.
class RunObserver final : public TrainObserver {
 public:
  RunObserver(py::object on_epoch, py::object on_note)
      : on_epoch_(std::move(on_epoch)), on_note_(std::move(on_note)) {}

  void record(const TrainingSession& session, const RunFolder& folder) {
    session_ = &session;
    folder_ = &folder;
  }
  void save() {
    if (folder_ == nullptr) return;
    session_->save_checkpoint(*folder_);
    saved_ = std::chrono::steady_clock::now();
  }

  bool stop_requested() override {
    check_signals();
    return false;
  }
  void on_epoch(const EpochRecord& record) override {
    if (folder_ != nullptr) {
      constexpr std::chrono::seconds kBetweenCheckpoints(30);
      folder_->write_metrics(session_->records());
      if (std::chrono::steady_clock::now() - saved_ > kBetweenCheckpoints) save();
    }
    const py::gil_scoped_acquire gil;
    on_epoch_(to_python(to_json(record)));
  }
  void on_note(const std::string& note) override {
    const py::gil_scoped_acquire gil;
    on_note_(note);
  }

 private:
  py::object on_epoch_;
  py::object on_note_;
  const TrainingSession* session_ = nullptr;
  const RunFolder* folder_ = nullptr;
  std::chrono::steady_clock::time_point saved_;
};

/// A training that has ended.
struct Run {
  TrainingSession session;
  ordered_json result;
};

std::shared_ptr<Run> train(const std::shared_ptr<const Network>& network, const GivenOptions& given,
                           const std::optional<std::string>& out, py::object on_epoch,
                           py::object on_note) {
  RunObserver observer(std::move(on_epoch), std::move(on_note));
  const py::gil_scoped_release release;
  RunSpec spec = resolve_run(given);
  spec.data = network->data;
  spec.read = network->read;
  spec.threads = num_threads();
  if (out && RunFolder(*out).exists()) fail("{} exists already", *out);
  TrainingSession session(std::move(spec), network->dataset, observer);
  check_goal(session.task().validation(), session.spec().train.goal,
             session.spec().train.select_on);
  if (!out) {
    session.train(observer);
    ordered_json result = session.result();
    return std::make_shared<Run>(Run{std::move(session), std::move(result)});
  }
  const RunFolder folder(*out);
  create_run(folder, session.spec());
  const FileLock lock(folder.options(), "training " + *out);
  observer.record(session, folder);
  try {
    session.train(observer);
  } catch (const py::error_already_set&) {
    observer.save();  // `curnm train --resume` goes on from here
    throw;
  }
  observer.save();
  ordered_json result = session.result();
  save_model(session.trained_model(), folder.model());
  folder.write_result(result);
  return std::make_shared<Run>(Run{std::move(session), std::move(result)});
}

void bind_runs(py::module_& module) {
  module.def("train", &train, py::arg("network").none(false), py::arg("options"), py::arg("out"),
             py::arg("on_epoch"), py::arg("on_note"));
  py::class_<Run, std::shared_ptr<Run>>(module, "Run")
      .def("result", [](const Run& run) { return to_python(run.result); })
      .def("options", [](const Run& run) { return to_python(options_json(run.session.spec())); })
      .def("records",
           [](const Run& run) {
             py::list records;
             for (const EpochRecord& record : run.session.records()) {
               records.append(to_python(to_json(record)));
             }
             return records;
           })
      .def(
          "answers",
          [](Run& run) {
            return std::make_shared<Answers>(run.session.trained_model(),
                                             run.session.task().dataset());
          },
          py::call_guard<py::gil_scoped_release>());
}

}  // namespace

void bind_training(py::module_& module) {
  bind_prediction(module);
  bind_runs(module);
  interrupt_check = &check_signals;
}

}  // namespace curnm::python
