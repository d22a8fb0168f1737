#include "curnm/data/append.h"

#include <algorithm>
#include <charconv>

#include "curnm/base/error.h"
#include "curnm/base/names.h"

namespace curnm {
namespace {

/// Gives nodes numbers: those of the data set, or new ones.
class Numbering {
 public:
  Numbering(const Dataset& dataset, std::int64_t most_new)
      : named_(!dataset.ids.empty()), num_nodes_(dataset.events.num_nodes), most_new_(most_new) {
    if (!named_) return;
    for (NodeId node = 0; node < num_nodes_; ++node) table_.intern(dataset.ids.name(node));
  }

  NodeId number(std::string_view name) {
    if (named_) return table_.intern(name);
    NodeId node = kNoNode;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), node);
    // Room for every end of the events to be new: a number far off would cost memory for all
    // others.
    const std::int64_t most = known() + most_new_;
    if (error != std::errc() || end != name.data() + name.size() || node < 0 || node >= most) {
      fail("node '{}': nodes of this network are the numbers 0 .. {}, new ones follow them",
           quotable(name), known() - 1);
    }
    num_nodes_ = std::max(num_nodes_, node + 1);
    return node;
  }

  NodeId known() const { return named_ ? table_.size() : num_nodes_; }
  IdMap finish() { return named_ ? table_.finish() : IdMap{}; }

 private:
  bool named_;
  NodeId num_nodes_;
  std::int64_t most_new_;
  IdTable table_;
};

template <class T>
std::vector<T> copy_of(const Column<T>& column) {
  return {column.begin(), column.end()};
}

/// A column that need not be there, continued by a value for what it says nothing about.
template <class T>
Column<T> padded(const Column<T>& column, std::int64_t rows, T value) {
  if (column.empty()) return column;
  std::vector<T> values = copy_of(column);
  values.resize(index(rows), value);
  return values;
}

}  // namespace

void check_columns(const Dataset& dataset, const NewEvents& events) {
  if (events.src.size() != events.time.size() || events.dst.size() != events.time.size()) {
    fail("the columns differ in length: {} sources, {} destinations, {} times", events.src.size(),
         events.dst.size(), events.time.size());
  }
  const std::int64_t width = dataset.edge_features.width;
  if (events.features.width != width ||
      (width > 0 && events.features.rows() != std::ssize(events.time))) {
    fail("{} events with {} rows of {} features: this network has {} per event", events.time.size(),
         events.features.rows(), events.features.width, width);
  }
}

Dataset append(const Dataset& dataset, const NewEvents& events) {
  check_columns(dataset, events);
  Dataset grown = dataset;
  Numbering numbering(dataset, 2 * std::ssize(events.time));
  std::vector<NodeId> src = copy_of(dataset.events.src);
  std::vector<NodeId> dst = copy_of(dataset.events.dst);
  std::vector<Timestamp> time = copy_of(dataset.events.time);
  for (std::size_t i = 0; i < events.time.size(); ++i) {
    src.push_back(numbering.number(events.src[i]));
    dst.push_back(numbering.number(events.dst[i]));
    time.push_back(events.time[i]);
  }
  const NodeId nodes = numbering.known();
  if (dataset.node_features.width > 0 && nodes > dataset.events.num_nodes) {
    fail("{} new nodes: every node of this network has features, and theirs are not known",
         nodes - dataset.events.num_nodes);
  }
  grown.events = {std::move(src), std::move(dst), std::move(time), nodes};
  validate(grown.events);
  if (grown.edge_features.width > 0) {
    std::vector<float> values = copy_of(dataset.edge_features.values);
    values.insert(values.end(), events.features.values.begin(), events.features.values.end());
    grown.edge_features.values = std::move(values);
  }
  const std::int64_t count = grown.events.size();
  grown.labels = padded(dataset.labels, count, 0.0F);
  grown.roll = padded(dataset.roll, count, std::uint8_t{2});  // after the test
  grown.communities = padded<std::int32_t>(dataset.communities, nodes, -1);
  grown.ids = numbering.finish();
  return grown;
}

}  // namespace curnm
