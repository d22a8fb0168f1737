#include "curnm/graph/roles.h"

#include <algorithm>

#include "curnm/base/parallel.h"

namespace curnm {

Roles::Roles(const EventLog& log, const TemporalGraph& graph)
    : graph_(&graph), as_source_(graph.events().size()), as_destination_(as_source_.size()) {
  parallel_for(graph.num_nodes(), /*grain=*/1024, [&](std::int64_t begin, std::int64_t end) {
    for (auto node = static_cast<NodeId>(begin); node < end; ++node) {
      std::int32_t as_source = 0;
      std::int32_t as_destination = 0;
      const TemporalGraph::Range entries = graph.all(node);
      for (auto at = static_cast<std::size_t>(entries.begin);
           at < static_cast<std::size_t>(entries.end); ++at) {
        const EventId event = graph.events()[at];
        as_source_[at] = as_source += log.src[event] == node ? 1 : 0;
        as_destination_[at] = as_destination += log.dst[event] == node ? 1 : 0;
      }
    }
  });
}

void Roles::put_counts(NodeId node, const PlacedEntry& placed, bool is_source,
                       bool is_destination) {
  const bool is_first = graph_->all(node).begin == placed.at;
  const auto add = [&](Counts& counts, bool counts_here) {
    // Earlier counts move first, so that the newest of them is right before this one.
    put(counts, placed, std::ssize(graph_->events()), 0);
    const std::int32_t before = is_first ? 0 : counts[index(placed.at - 1)];
    counts[index(placed.at)] = before + (counts_here ? 1 : 0);
  };
  add(as_source_, is_source);
  add(as_destination_, is_destination);
}

void Roles::append(NodeId src, NodeId dst, const TemporalGraph::Appended& appended) {
  put_counts(src, appended.of_src, /*is_source=*/true, /*is_destination=*/src == dst);
  if (dst != src) {
    put_counts(dst, appended.of_dst, /*is_source=*/false, /*is_destination=*/true);
  }
}

void Roles::visit_memory(const PageVisitor& visit) const {
  visit_pages(as_source_, visit);
  visit_pages(as_destination_, visit);
}

Activity Roles::find(const Counts& counts, TemporalGraph::Range entries) const {
  if (entries.size() == 0) return {};
  const auto first = counts.begin() + entries.begin;
  const auto newest = counts.begin() + entries.end - 1;
  if (*newest == 0) return {};
  // The entry at which the count became what it is. Most often it is the newest.
  const auto last = newest != first && *(newest - 1) == *newest
                        ? std::lower_bound(first, newest, *newest)
                        : newest;
  return {*newest, graph_->times()[static_cast<std::size_t>(last - counts.begin())]};
}

}  // namespace curnm
