#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>

#include "curnm/base/error.h"
#include "curnm/base/interrupt.h"
#include "curnm/data/reader.h"
#include "curnm/evaluation/task.h"
#include "curnm/sampling/links.h"

// What the files of the modules share. Here nodes are checked numbers and arrays have one exact
// type: the package around it (python/curnm) converts what people pass, and documents it.

namespace curnm::python {

namespace py = pybind11;

using Nodes = py::array_t<std::int64_t, py::array::c_style>;
using Times = py::array_t<Timestamp, py::array::c_style>;
using Floats = py::array_t<float, py::array::c_style>;

/// A data set, where it came from, and what may be looked up in it.
class Network : public std::enable_shared_from_this<Network> {
 public:
  Network(Dataset opened, std::string opened_from, ReadOptions read_with)
      : dataset(std::move(opened)), data(std::move(opened_from)), read(std::move(read_with)) {}

  /// Made when first asked for.
  const Indices& indices() const {
    std::call_once(made_, [&] { indices_ = std::make_unique<Indices>(dataset.events); });
    return *indices_;
  }

  const Dataset dataset;
  const std::string data;  // as open_dataset takes it; empty: made from arrays
  const ReadOptions read;

 private:
  mutable std::once_flag made_;
  mutable std::unique_ptr<const Indices> indices_;
};

/// A task with the seed of what is drawn while training on it.
struct Task {
  Task(std::shared_ptr<const Network> of, const TaskOptions& options, std::uint64_t training_seed)
      : network(std::move(of)), task(network->dataset, options), seed(training_seed) {}

  const std::shared_ptr<const Network> network;
  const LinkTask task;
  const std::uint64_t seed;
};

/// Training events of a task, in an epoch.
struct Batch {
  std::shared_ptr<const Task> task;  // whose columns `events` points into
  EventBatch events;
  std::int64_t epoch;
};

/// Throws Error for nodes that the network does not have, and for arrays that are not flat.
inline std::vector<NodeId> to_nodes(const Nodes& nodes, NodeId num_nodes, const char* name) {
  if (nodes.ndim() != 1) fail("{} has {} dimensions instead of one", name, nodes.ndim());
  std::vector<NodeId> checked(index(nodes.size()));
  const std::int64_t* values = nodes.data();
  for (std::int64_t i = 0; i < nodes.size(); ++i) {
    if (values[i] < 0 || values[i] >= num_nodes) {
      fail("{}[{}] is {}: nodes are the numbers 0 .. {}", name, i, values[i], num_nodes - 1);
    }
    checked[index(i)] = static_cast<NodeId>(values[i]);
  }
  return checked;
}

/// The same for times that are not finite. The array must outlive the span.
inline std::span<const Timestamp> to_times(const Times& times, const char* name) {
  if (times.ndim() != 1) fail("{} has {} dimensions instead of one", name, times.ndim());
  const std::span<const Timestamp> values(times.data(), index(times.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) fail("{}[{}] is {}", name, i, values[i]);
  }
  return values;
}

/// Nodes and times of questions about pairs.
struct PairArrays {
  PairArrays(const Nodes& sources, const Nodes& destinations, const Times& times, NodeId num_nodes)
      : src(to_nodes(sources, num_nodes, "src")),
        dst(to_nodes(destinations, num_nodes, "dst")),
        time(to_times(times, "time")) {
    if (src.size() == dst.size() && src.size() == time.size()) return;
    fail("the columns differ in length: {} sources, {} destinations, {} times", src.size(),
         dst.size(), time.size());
  }
  Pairs pairs() const { return {src, dst, time}; }

  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::span<const Timestamp> time;
};

inline Nodes from_nodes(std::span<const NodeId> nodes) {
  Nodes array(std::ssize(nodes));
  std::copy(nodes.begin(), nodes.end(), array.mutable_data());
  return array;
}

/// The value of an enumeration by its name. Throws OptionError, which calls it `what`.
template <Choice Enum>
Enum choice(std::string_view what, std::string_view name) {
  Enum value{};
  OptionValue(value).parse({.name = what, .help = ""}, name);
  return value;
}

/// Ctrl-C: the exception of Python that ends the call. Asked for far less often than a batch takes.
inline void check_signals() {
  using Clock = std::chrono::steady_clock;
  static thread_local Clock::time_point last;
  const Clock::time_point now = Clock::now();
  if (now - last < std::chrono::milliseconds(100)) return;
  last = now;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// What a module does when it is loaded. The threads of OpenMP do not survive a fork: a child that
/// waits for them waits for ever, so it gets one thread.
inline void prepare(py::module_& module, void (*use_one_thread)()) {
  interrupt_check = &check_signals;
  module.def("use_one_thread", use_one_thread);
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                         module.attr("use_one_thread"));
}

// The parts of the modules, a file each. Of _core, which does without LibTorch: networks, what is
// looked up in them, metrics; tasks and evaluation. Of _learning: training and prediction; miners
// and decoders.
void bind_data(py::module_& module);
void bind_tasks(py::module_& module);
void bind_training(py::module_& module);
void bind_mining(py::module_& module);

}  // namespace curnm::python
