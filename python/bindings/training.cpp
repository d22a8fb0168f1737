#include <chrono>
#include <limits>
#include <map>

#include "bindings/json.h"
#include "bindings/module.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/parallel.h"
#include "curnm/data/append.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/measured.h"
#include "curnm/prediction/predictor.h"
#include "curnm/serving/live_model.h"
#include "curnm/training/session.h"

namespace curnm::python {
namespace {

using nlohmann::ordered_json;

/// The rows of each distinct time, earliest first: a batch of questions each.
std::vector<std::vector<std::size_t>> rows_by_time(std::span<const Timestamp> times) {
  std::map<Timestamp, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < times.size(); ++i) rows[times[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [time, group] : rows) groups.push_back(std::move(group));
  return groups;
}

/// Answers questions about links; the events so far may grow. Called without the GIL, which a
/// thread that is waited for here may ask for.
class Answers {
 public:
  Answers(TrainedModel model, Dataset events)
      : model_(std::move(model)),
        base_(std::move(events)),
        now_{.predictor = std::make_shared<const Predictor>(model_, base_), .live = nullptr} {}

  const TrainedModel& model() const { return model_; }

  /// The predictor of now. It stays as it is while events are appended; afterwards the next one
  /// costs what all events cost. May be called with the GIL.
  std::shared_ptr<const Predictor> current() const {
    std::optional<py::gil_scoped_release> release;
    if (PyGILState_Check() != 0) release.emplace();
    const std::lock_guard changing(change_);
    Now now = this->now();
    if (!now.predictor) {
      now.predictor = std::make_shared<const Predictor>(model_, grown(*now.live));
      put(now);
    }
    return now.predictor;
  }

  NodeId find(const std::string& name, bool as_source) const {
    if (const auto live = now().live) {
      const NodeId node = live->find(name, as_source);
      if (node != kNoNode) return node;
    }
    const std::shared_ptr<const Predictor> predictor = current();
    const EventLog& log = predictor->dataset().events;
    return predictor->find(name, (as_source ? log.src : log.dst).front());
  }
  std::vector<std::string> names(std::span<const NodeId> nodes) const {
    if (const auto live = now().live) return live->names(nodes);
    std::vector<std::string> names;
    for (const NodeId node : nodes) names.push_back(base_.ids.name(node));
    return names;
  }
  NodeId num_nodes() const {
    const auto live = now().live;
    return live ? live->position().nodes : base_.events.num_nodes;
  }

  std::vector<float> score(const Pairs& pairs, Question question) const {
    const Now now = this->now();
    if (!now.live) return now.predictor->score(pairs, question);
    std::vector<float> scores(index(pairs.size()));
    for (const std::vector<std::size_t>& rows : rows_by_time(pairs.time)) {
      std::vector<NodeId> src;
      std::vector<NodeId> dst;
      for (const std::size_t row : rows) {
        src.push_back(pairs.src[row]);
        dst.push_back(pairs.dst[row]);
      }
      std::vector<float> found;
      when_idle([&] { found = now.live->score(src, dst, pairs.time[rows.front()], question); });
      for (std::size_t i = 0; i < rows.size(); ++i) scores[rows[i]] = found[i];
    }
    return scores;
  }
  void top(std::span<const NodeId> sources, Timestamp t, const TopQuery& query,
           const TopAnswer& answer) const {
    const Now now = this->now();
    if (!now.live) return now.predictor->top(sources, t, query, answer);
    when_idle([&] { now.live->top(sources, t, query, answer); });
  }

  /// Costs what these events cost; the first call also a second copy of those so far.
  void append(const NewEvents& events) {
    const std::lock_guard changing(change_);
    Now now = this->now();
    if (!now.live) now.live = std::make_shared<LiveModel>(model_, base_);
    const std::int64_t before = now.live->appended();
    const auto publish = [&] {  // also what came before an interruption
      if (now.live->appended() == before) return;
      now.predictor = nullptr;
      put(now);
    };
    try {
      now.live->append(events);
    } catch (...) {
      publish();
      throw;
    }
    publish();
  }

 private:
  struct Now {
    std::shared_ptr<const Predictor> predictor;  // null where events came after it was made
    std::shared_ptr<LiveModel> live;             // null until something has been appended
  };
  Now now() const {
    const std::lock_guard reading(mutex_);
    return now_;
  }
  void put(Now now) const {
    const std::lock_guard writing(mutex_);
    now_ = std::move(now);
  }

  Dataset grown(const LiveModel& live) const {
    const StreamEvents events = *live.events_from(0);  // nothing is forgotten
    return curnm::append(base_, {.src = events.src,
                                 .dst = events.dst,
                                 .time = events.time,
                                 .features = {events.features, base_.edge_features.width}});
  }
  /// Asks again while others ask about the past.
  template <class Ask>
  static void when_idle(const Ask& ask) {
    while (true) {
      try {
        return ask();
      } catch (const Busy&) {
        check_interrupt();
      }
    }
  }

  const TrainedModel model_;
  const Dataset base_;
  mutable std::mutex change_;  // held by whoever changes what is known; questions go on
  mutable std::mutex mutex_;   // of now_
  mutable Now now_;
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
  Nodes found(std::ssize(names));
  std::int64_t* next = found.mutable_data();
  const py::gil_scoped_release release;
  for (const std::string& name : names) *next++ = answers.find(name, as_source);
  return found;
}

/// How many nodes there are; others may wait for the GIL with what this waits for.
NodeId count_nodes(const Answers& answers) {
  const py::gil_scoped_release release;
  return answers.num_nodes();
}

std::vector<std::string> names_of(const Answers& answers, const Nodes& nodes) {
  const std::vector<NodeId> asked = to_nodes(nodes, count_nodes(answers), "nodes");
  const py::gil_scoped_release release;
  return answers.names(asked);
}

Floats score(const Answers& answers, const Nodes& src, const Nodes& dst, const Times& time,
             const std::string& question) {
  const PairArrays arrays(src, dst, time, count_nodes(answers));
  const auto asked = choice<Question>("question", question);
  std::vector<float> scores;
  {
    const py::gil_scoped_release release;
    scores = answers.score(arrays.pairs(), asked);
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

/// The k likeliest destinations of each source, [n,k]: nodes, filled up with -1, and logits.
py::tuple topk(const Answers& answers, const Nodes& src, const Times& time, std::int64_t k,
               bool exclude_seen, const std::string& question) {
  const NodeId num_nodes = count_nodes(answers);
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
      answers.top(asking, times[rows_at.front()], query,
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
      .def("names", &names_of, py::arg("nodes").noconvert())
      .def(
          "network",
          [](const Answers& answers) {
            return std::make_shared<Network>(answers.current()->dataset(), "", ReadOptions{});
          },
          py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("outputs",
                             [](const Answers& answers) { return answers.model().outputs; })
      .def(
          "save",
          [](const Answers& answers, const std::string& file) {
            save_model(answers.model(), file);
          },
          py::arg("file"), py::call_guard<py::gil_scoped_release>());
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
}

}  // namespace curnm::python
