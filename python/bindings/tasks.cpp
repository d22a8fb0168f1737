#include "bindings/json.h"
#include "bindings/module.h"
#include "curnm/evaluation/measured.h"
#include "curnm/evaluation/results.h"

namespace curnm::python {
namespace {

/// A part of a task by the name that it has in Python.
const EvaluationSet& set_named(const LinkTask& task, const std::string& part) {
  if (part == "validation") return task.validation();
  if (part == "test") return task.test();
  if (part != "test_new")
    fail("part '{}': there are validation, test and test_new", quotable(part));
  if (task.new_test() == nullptr) fail("no test event has a new node and a possible negative");
  return *task.new_test();
}

const EventSet& events_of(const LinkTask& task, const std::string& part) {
  return part == "train" ? task.train() : set_named(task, part).positives;
}

/// Scores by a function of Python: (src, dst, time) -> an array [n] or [n,Q] of floats.
class CallableScorer final : public Scorer {
 public:
  CallableScorer(py::function score, std::optional<py::function> observe)
      : score_(std::move(score)), observe_(std::move(observe)) {}

  Scores score(const Pairs& pairs, Timestamp) override {
    const py::gil_scoped_acquire gil;
    const auto found = py::cast<Floats>(score_(from_nodes(pairs.src), from_nodes(pairs.dst),
                                               Times(pairs.size(), pairs.time.data())));
    const std::int64_t outputs = pairs.size() == 0 ? 1 : found.size() / pairs.size();
    if (found.size() != pairs.size() * outputs ||
        (outputs != 1 && outputs != std::ssize(kQuestions))) {
      fail("{} scores for {} pairs", found.size(), pairs.size());
    }
    return {.outputs = outputs, .values = {found.data(), found.data() + found.size()}};
  }
  void observe(const EventBatch& batch) override {
    if (!observe_) return;
    const py::gil_scoped_acquire gil;
    (*observe_)(from_nodes(batch.src), from_nodes(batch.dst),
                Times(batch.size(), batch.time.data()));
  }

 private:
  py::function score_;
  std::optional<py::function> observe_;
};

py::object evaluate(const Task& task, const std::string& part, py::function score,
                    std::optional<py::function> observe,
                    const std::optional<std::vector<std::string>>& names) {
  const EvaluationSet& set = set_named(task.task, part);
  std::vector<Protocol> asked;
  if (names) {
    for (const std::string& name : *names) {
      asked.push_back(choice<Protocol>("protocol", name));
      check_protocol(set, asked.back());
    }
  } else {
    asked = measured(set, all_protocols());
  }
  CallableScorer scorer(std::move(score), std::move(observe));
  nlohmann::ordered_json result;
  {
    const py::gil_scoped_release release;
    const std::int64_t batch = task.task.evaluation_batch();
    result = protocol_metrics(score_protocols(scorer, set, asked, batch), batch);
  }
  return to_python(result);
}

/// Draws negatives for batches whose events need not be those of the task's parts.
class PairSampler {
 public:
  PairSampler(std::shared_ptr<const Task> task, bool training)
      : task_(std::move(task)),
        past_(training ? task_->task.train_past() : task_->task.past()),
        sampler_({past_.pairs, past_.partners, past_.pairs},
                 task_->task.validation().positives.log.time.front()) {}

  py::tuple draw(const std::string& protocol, const Nodes& src, const Nodes& dst, Timestamp from,
                 Timestamp to, std::uint64_t seed) const {
    // What is drawn depends on the first and the last time of a batch, all of which are known.
    Times times(src.size());
    std::fill_n(times.mutable_data(), times.size(), from);
    if (times.size() > 1) times.mutable_data()[times.size() - 1] = to;
    const PairArrays batch(src, dst, times, task_->task.log().num_nodes);
    const EventLog events{batch.src, batch.dst,
                          std::vector<Timestamp>(batch.time.begin(), batch.time.end()),
                          task_->task.log().num_nodes};
    validate(events);
    const auto asked = choice<Protocol>("protocol", protocol);
    Negatives drawn;
    if (events.size() > 0) {
      const py::gil_scoped_release release;
      drawn = sampler_.draw(events, asked, {.seed = seed, .batch_size = events.size()});
    }
    return py::make_tuple(from_nodes(drawn.src), from_nodes(drawn.dst));
  }

 private:
  std::shared_ptr<const Task> task_;
  Past past_;
  NegativeSampler sampler_;
};

std::shared_ptr<Task> make_task(std::shared_ptr<Network> network, std::uint64_t seed,
                                const GivenOptions& given) {
  TaskOptions options;
  set_all_given(given, options, "a task");
  options.check();
  return std::make_shared<Task>(std::move(network), options, seed);
}

std::shared_ptr<Batch> make_batch(std::shared_ptr<Task> task, std::int64_t begin, std::int64_t end,
                                  std::int64_t epoch) {
  const std::int64_t events = task->task.train().size();
  if (begin < 0 || begin >= end || end > events) {
    fail("events {} .. {} of {} training events", begin, end, events);
  }
  if (epoch < 0) fail("epoch is {}: epochs count from 0", epoch);
  const EventBatch batch = task->task.train().batch(begin, end);
  return std::make_shared<Batch>(Batch{std::move(task), batch, epoch});
}

}  // namespace

void bind_tasks(py::module_& module) {
  py::class_<Task, std::shared_ptr<Task>>(module, "Task")
      .def(py::init(&make_task), py::arg("network").none(false), py::arg("seed"),
           py::arg("options"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("seed", [](const Task& task) { return task.seed; })
      .def("batch", &make_batch, py::arg("begin"), py::arg("end"), py::arg("epoch"))
      .def(
          "events",
          [](const Task& task, const std::string& part) {
            const EventSet& set = events_of(task.task, part);
            return py::make_tuple(from_nodes(set.log.src.span()), from_nodes(set.log.dst.span()),
                                  Times(set.size(), set.log.time.data()),
                                  Nodes(set.size(), set.events.data()));
          },
          py::arg("part"))
      .def("size", [](const Task& task,
                      const std::string& part) { return events_of(task.task, part).size(); })
      .def(
          "negatives",
          [](const Task& task, const std::string& part, const std::string& protocol) {
            const EvaluationSet& set = set_named(task.task, part);
            const Negatives& negatives =
                set.negatives[static_cast<std::size_t>(choice<Protocol>("protocol", protocol))];
            return py::make_tuple(from_nodes(negatives.src), from_nodes(negatives.dst),
                                  negatives.genuine);
          },
          py::arg("part"), py::arg("protocol"))
      .def("evaluate", &evaluate, py::arg("part"), py::arg("score"), py::arg("observe"),
           py::arg("protocols"));
  py::class_<PairSampler>(module, "PairSampler")
      .def(py::init([](std::shared_ptr<Task> task, bool training) {
             return std::make_unique<PairSampler>(std::move(task), training);
           }),
           py::arg("task").none(false), py::arg("training"))
      .def("draw", &PairSampler::draw, py::arg("protocol"), py::arg("src").noconvert(),
           py::arg("dst").noconvert(), py::arg("start"), py::arg("end"), py::arg("seed"));
  py::class_<Batch, std::shared_ptr<Batch>>(module, "Batch")
      .def_property_readonly("src", [](const Batch& b) { return from_nodes(b.events.src); })
      .def_property_readonly("dst", [](const Batch& b) { return from_nodes(b.events.dst); })
      .def_property_readonly(
          "time", [](const Batch& b) { return Times(b.events.size(), b.events.time.data()); })
      .def_property_readonly(
          "events", [](const Batch& b) { return Nodes(b.events.size(), b.events.events.data()); })
      .def_property_readonly("epoch", [](const Batch& b) { return b.epoch; });
  module.attr("PROTOCOLS") = py::cast(
      std::vector<std::string>(kChoiceNames<Protocol>.begin(), kChoiceNames<Protocol>.end()));
}

}  // namespace curnm::python
