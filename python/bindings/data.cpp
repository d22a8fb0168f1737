#include <algorithm>
#include <cmath>

#include "bindings/module.h"
#include "curnm/base/names.h"
#include "curnm/base/parallel.h"
#include "curnm/base/version.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/metrics.h"
#include "curnm/sampling/pair_statistics.h"

namespace curnm::python {

namespace {

/// The vector's memory as an array.
template <class T>
py::array_t<T> moved(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const T* data = owned->data();
  const py::capsule owner(owned.release(),
                          [](void* vector) { delete static_cast<std::vector<T>*>(vector); });
  return py::array_t<T>(std::move(shape), data, owner);
}

/// A column of the network as an array that cannot be written to, without a copy.
template <class T>
py::array view(const Network& network, std::span<const T> values, std::vector<py::ssize_t> shape) {
  py::array array =
      py::array_t<T>(std::move(shape), values.data(), py::cast(network.shared_from_this()));
  array.attr("flags").attr("writeable") = false;
  return array;
}

py::object view(const Network& network, const FeatureMatrix& features) {
  if (features.width == 0) return py::none();
  return view(network, features.values.span(), {features.rows(), features.width});
}

/// Features in the memory of the array, which lives as long as they do.
FeatureMatrix to_features(const std::optional<Floats>& array, std::int64_t rows, const char* name) {
  if (!array) return {};
  if (array->ndim() != 2) fail("{} has {} dimensions instead of two", name, array->ndim());
  if (array->shape(0) != rows) {
    fail("{} has {} rows, and {} are needed", name, array->shape(0), rows);
  }
  const std::span<const float> values(array->data(), index(array->size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const std::size_t width = index(array->shape(1));
    fail("{}[{}, {}] is {}", name, i / width, i % width, values[i]);
  }
  const std::shared_ptr<const void> owner(new py::object(*array), [](const void* object) {
    const py::gil_scoped_acquire gil;
    delete static_cast<const py::object*>(object);
  });
  return {Column<float>(values, owner), array->shape(1)};
}

IdMap to_ids(const std::optional<std::vector<std::string>>& names, NodeId num_nodes) {
  if (!names) return {};
  IdTable table;
  for (const std::string& name : *names) table.intern(name);
  if (std::ssize(*names) != num_nodes || table.size() != num_nodes) {
    fail("{} distinct names for {} nodes", table.size(), num_nodes);
  }
  return table.finish();
}

std::shared_ptr<Network> from_arrays(const Nodes& src, const Nodes& dst, const Times& time,
                                     NodeId num_nodes, const std::optional<Floats>& edge_features,
                                     const std::optional<Floats>& node_features,
                                     const std::optional<std::vector<std::string>>& names,
                                     const std::string& name) {
  const PairArrays checked(src, dst, time, num_nodes);
  Dataset dataset;
  dataset.name = name;
  dataset.source = "arrays";
  dataset.format = "arrays";
  // A copy of the times: what is sorted must stay sorted.
  dataset.events = {checked.src, checked.dst,
                    std::vector<Timestamp>(checked.time.begin(), checked.time.end()), num_nodes};
  if (dataset.events.size() == 0) fail("a network without events");
  validate(dataset.events);
  dataset.edge_features = to_features(edge_features, dataset.events.size(), "edge_features");
  dataset.node_features = to_features(node_features, num_nodes, "node_features");
  dataset.ids = to_ids(names, num_nodes);
  return std::make_shared<Network>(std::move(dataset), "", ReadOptions{});
}

std::shared_ptr<Network> load(const std::string& data, const GivenOptions& given) {
  ReadOptions read;
  set_all_given(given, read, "reading");
  Dataset dataset = open_dataset(data, read);
  return std::make_shared<Network>(std::move(dataset), from_anywhere(data), read);
}

std::optional<std::vector<std::string>> names_of(const Network& network) {
  if (network.dataset.ids.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (NodeId node = 0; node < network.dataset.events.num_nodes; ++node) {
    names.push_back(network.dataset.ids.name(node));
  }
  return names;
}

void bind_networks(py::module_& module) {
  py::class_<Network, std::shared_ptr<Network>>(module, "Network")
      .def(py::init(&from_arrays), py::arg("src").noconvert(), py::arg("dst").noconvert(),
           py::arg("time").noconvert(), py::arg("num_nodes"), py::arg("edge_features").noconvert(),
           py::arg("node_features").noconvert(), py::arg("names"), py::arg("name"))
      .def_static("load", &load, py::arg("data"), py::arg("options"),
                  py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("name", [](const Network& n) { return n.dataset.name; })
      .def_property_readonly("notes", [](const Network& n) { return n.dataset.notes; })
      .def_property_readonly("num_nodes",
                             [](const Network& n) { return n.dataset.events.num_nodes; })
      .def_property_readonly("num_events", [](const Network& n) { return n.dataset.events.size(); })
      .def_property_readonly(
          "src", [](const Network& n) { return from_nodes(n.dataset.events.src.span()); })
      .def_property_readonly(
          "dst", [](const Network& n) { return from_nodes(n.dataset.events.dst.span()); })
      .def_property_readonly("time",
                             [](const Network& n) {
                               const auto times = n.dataset.events.time.span();
                               return view(n, times, {std::ssize(times)});
                             })
      .def_property_readonly("edge_features",
                             [](const Network& n) { return view(n, n.dataset.edge_features); })
      .def_property_readonly("node_features",
                             [](const Network& n) { return view(n, n.dataset.node_features); })
      .def("names", &names_of)
      .def(
          "digest", [](const Network& n) { return n.dataset.digest(); },
          py::call_guard<py::gil_scoped_release>())
      .def(
          "save",
          [](const Network& n, const std::string& folder, bool force) {
            save_dataset(n.dataset, folder, force);
          },
          py::arg("folder"), py::arg("force"), py::call_guard<py::gil_scoped_release>());
}

/// Calls body(begin, end) for blocks of rows on all threads, and in between looks whether somebody
/// wants to interrupt. What a block needs stays in the cache until its answers are written, and the
/// pages of the answers, which are new, are first touched by several threads.
template <class Body>
void in_blocks(std::int64_t rows, std::int64_t width, const Body& body) {
  const std::int64_t block = std::max<std::int64_t>(1, 8192 / width);
  constexpr std::int64_t kBetweenChecks = std::int64_t{1} << 20;
  for (std::int64_t first = 0; first < rows; first += kBetweenChecks) {
    check_interrupt();
    const std::int64_t part = std::min(kBetweenChecks, rows - first);
    parallel_for(part, block, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; at += block) {
        body(first + at, first + std::min(at + block, end));
      }
    });
  }
}

/// The values in rows begin .. of a matrix, as its type.
template <class From, class To>
void put_rows(const std::vector<From>& values, std::int64_t begin, std::int64_t width, To* rows) {
  std::copy(values.begin(), values.end(), rows + begin * width);
}

/// Where the neighbours of questions go: new arrays, or those of an earlier call.
struct NeighborArrays {
  NeighborArrays(std::int64_t rows, std::int64_t k)
      : nodes({rows, k}), times({rows, k}), events({rows, k}), counts(rows) {}
  NeighborArrays(const py::tuple& given, std::int64_t rows, std::int64_t k)
      : nodes(taken<Nodes>(given, 0)),
        times(taken<Times>(given, 1)),
        events(taken<Nodes>(given, 2)),
        counts(taken<Nodes>(given, 3)) {
    check(nodes, {rows, k});
    check(times, {rows, k});
    check(events, {rows, k});
    check(counts, {rows});
  }

  Nodes nodes;
  Times times;
  Nodes events;
  Nodes counts;

 private:
  template <class Array>
  static Array taken(const py::tuple& given, std::size_t column) {
    if (given.size() != 4 || !py::isinstance<Array>(given[column])) {
      fail("out is not what an earlier call returned");
    }
    return given[column].cast<Array>();
  }
  static void check(const py::array& array, const std::vector<py::ssize_t>& shape) {
    if (!std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim())) {
      fail("out is what a call with another number of questions or another k returned");
    }
    if (!array.writeable()) fail("out may not be written");
  }
};

/// Answers questions about nodes, pairs and times from all events of a network.
py::tuple sample_neighbors(const Network& network, const Nodes& nodes, const Times& times,
                           std::int64_t k, const std::string& strategy, std::uint64_t seed,
                           const std::optional<py::tuple>& out) {
  const std::vector<NodeId> roots = to_nodes(nodes, network.dataset.events.num_nodes, "nodes");
  const std::span<const Timestamp> at = to_times(times, "times");
  if (roots.size() != at.size()) fail("{} nodes and {} times", roots.size(), at.size());
  constexpr std::int64_t kMost = 1 << 20;
  if (k < 1 || k > kMost) fail("k is {}: it must be between 1 and {}", k, kMost);
  if (strategy != "recent" && strategy != "uniform") {
    fail("strategy '{}': there are recent and uniform", quotable(strategy));
  }
  const auto rows = std::ssize(roots);
  NeighborArrays found = out ? NeighborArrays(*out, rows, k) : NeighborArrays(rows, k);
  std::int64_t* const node_rows = found.nodes.mutable_data();
  Timestamp* const time_rows = found.times.mutable_data();
  std::int64_t* const event_rows = found.events.mutable_data();
  std::int64_t* const count_rows = found.counts.mutable_data();
  {
    const py::gil_scoped_release release;
    const NeighborSampler sampler(
        network.indices().graph,
        {.strategy = strategy == "recent" ? SamplingStrategy::kRecent : SamplingStrategy::kUniform,
         .neighbors = k});
    const Rng key(seed, Stream::kNeighbors);
    in_blocks(rows, k, [&](std::int64_t begin, std::int64_t end) {
      const Roots all{roots, at};
      const std::vector<Neighbors> layers =
          sampler.sample({all.nodes.subspan(index(begin), index(end - begin)),
                          all.times.subspan(index(begin), index(end - begin))},
                         key);
      put_rows(layers.front().nodes, begin, k, node_rows);
      put_rows(layers.front().times, begin, k, time_rows);
      put_rows(layers.front().events, begin, k, event_rows);
      put_rows(layers.front().counts, begin, 1, count_rows);
    });
  }
  return py::make_tuple(std::move(found.nodes), std::move(found.times), std::move(found.events),
                        std::move(found.counts));
}

py::tuple partners_before(const Network& network, const Nodes& nodes, const Times& times) {
  const std::vector<NodeId> asked = to_nodes(nodes, network.dataset.events.num_nodes, "nodes");
  const std::span<const Timestamp> at = to_times(times, "times");
  if (asked.size() != at.size()) fail("{} nodes and {} times", asked.size(), at.size());
  std::vector<NodeId> partners;
  std::vector<Timestamp> last;
  std::vector<std::int64_t> offsets = {0};
  {
    const py::gil_scoped_release release;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (const Partner& partner : network.indices().partners.all(asked[i], at[i])) {
        partners.push_back(partner.node);
        last.push_back(partner.last);
      }
      offsets.push_back(std::ssize(partners));
    }
  }
  const auto count = std::ssize(last);
  const auto rows = std::ssize(offsets);
  return py::make_tuple(from_nodes(partners), moved(std::move(last), {count}),
                        moved(std::move(offsets), {rows}));
}

/// `fitted_to`: the events whose times decide the scale of ages.
py::array pair_statistics(const Network& network, const EventLog& fitted_to, const Nodes& src,
                          const Nodes& dst, const Times& time) {
  const PairArrays arrays(src, dst, time, network.dataset.events.num_nodes);
  const Pairs pairs = arrays.pairs();
  Floats values({pairs.size(), kPairStatisticsWidth});
  float* const to_values = values.mutable_data();
  {
    const py::gil_scoped_release release;
    const PairStatistics statistics(network.indices().past(), AgeScale::of(fitted_to.time.span()));
    in_blocks(pairs.size(), kPairStatisticsWidth, [&](std::int64_t begin, std::int64_t end) {
      const auto part = [&](auto column) {
        return column.subspan(index(begin), index(end - begin));
      };
      const Links links(Pairs{part(pairs.src), part(pairs.dst), part(pairs.time)});
      put_rows(statistics.of_pairs(links), begin, kPairStatisticsWidth, to_values);
    });
  }
  return values;
}

void bind_sampling(py::module_& module) {
  module.def("neighbors", &sample_neighbors, py::arg("network"), py::arg("nodes").noconvert(),
             py::arg("times").noconvert(), py::arg("k"), py::arg("strategy"), py::arg("seed"),
             py::arg("out"));
  module.def("partners_before", &partners_before, py::arg("network"), py::arg("nodes").noconvert(),
             py::arg("times").noconvert());
  module.def(
      "pair_statistics",
      [](const Network& network, const Nodes& src, const Nodes& dst, const Times& time) {
        return pair_statistics(network, network.dataset.events, src, dst, time);
      },
      py::arg("network"), py::arg("src").noconvert(), py::arg("dst").noconvert(),
      py::arg("time").noconvert());
  module.def(
      "pair_statistics",
      [](const Task& task, const Nodes& src, const Nodes& dst, const Times& time) {
        return pair_statistics(*task.network, task.task.train().log, src, dst, time);
      },
      py::arg("task"), py::arg("src").noconvert(), py::arg("dst").noconvert(),
      py::arg("time").noconvert());
  std::vector<std::string_view> names;
  for (const PairStatistic& statistic : kPairStatistics) names.push_back(statistic.name);
  module.attr("PAIR_STATISTICS") = py::cast(names);
}

std::span<const float> scores_of(const Floats& scores, const char* name) {
  if (scores.size() == 0) fail("there are no {}", name);
  return {scores.data(), index(scores.size())};
}

/// The mean reciprocal rank of positives [n] among their negatives [n,m].
double mean_reciprocal_rank(const Floats& positives, const Floats& negatives) {
  if (positives.ndim() != 1 || negatives.ndim() != 2 || positives.size() != negatives.shape(0)) {
    fail("positives [n] have negatives [n,m]: there are {} and {}", positives.size(),
         negatives.ndim() == 2 ? negatives.shape(0) : negatives.size());
  }
  const std::span<const float> all = scores_of(negatives, "negatives");
  const std::size_t width = index(negatives.shape(1));
  double sum = 0;
  for (std::int64_t i = 0; i < positives.size(); ++i) {
    sum += reciprocal_rank(positives.data()[i], all.subspan(index(i) * width, width));
  }
  return sum / static_cast<double>(positives.size());
}

void bind_metrics(py::module_& module) {
  using Metric = double (*)(std::span<const float>, std::span<const float>);
  const auto bind = [&](const char* name, Metric metric) {
    module.def(
        name,
        [metric](const Floats& positives, const Floats& negatives) {
          const auto positive = scores_of(positives, "positives");
          const auto negative = scores_of(negatives, "negatives");
          const py::gil_scoped_release release;
          return metric(positive, negative);
        },
        py::arg("positives").noconvert(), py::arg("negatives").noconvert());
  };
  bind("average_precision", &average_precision);
  bind("roc_auc", &roc_auc);
  module.def("mrr", &mean_reciprocal_rank, py::arg("positives").noconvert(),
             py::arg("negatives").noconvert());
}

}  // namespace

void bind_data(py::module_& module) {
  module.attr("__version__") = std::string(kVersion);
  bind_networks(module);
  bind_sampling(module);
  bind_metrics(module);
}

}  // namespace curnm::python
