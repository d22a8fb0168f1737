#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "curnm/base/error.h"
#include "curnm/data/reader.h"
#include "curnm/evaluation/task.h"
#include "curnm/sampling/links.h"

// What the files of the module share. Here nodes are checked numbers and arrays have one exact
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
std::vector<NodeId> to_nodes(const Nodes& nodes, NodeId num_nodes, const char* name);
/// The same for times that are not finite. The array must outlive the span.
std::span<const Timestamp> to_times(const Times& times, const char* name);
/// Nodes and times of questions about pairs.
struct PairArrays {
  PairArrays(const Nodes& src, const Nodes& dst, const Times& time, NodeId num_nodes);
  Pairs pairs() const { return {src, dst, time}; }

  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::span<const Timestamp> time;
};

Nodes from_nodes(std::span<const NodeId> nodes);

/// The value of an enumeration by its name. Throws OptionError, which calls it `what`.
template <Choice Enum>
Enum choice(std::string_view what, std::string_view name) {
  Enum value{};
  OptionValue(value).parse({.name = what, .help = ""}, name);
  return value;
}

// The parts of the module, a file each: networks, what is looked up in them, metrics; tasks and
// evaluation; training and prediction; miners and decoders.
void bind_data(py::module_& module);
void bind_tasks(py::module_& module);
void bind_training(py::module_& module);
void bind_mining(py::module_& module);

}  // namespace curnm::python
