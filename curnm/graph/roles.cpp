#include "curnm/graph/roles.h"

#include <algorithm>

#include "curnm/base/parallel.h"

namespace curnm {

Roles::Roles(const EventLog& log, const TemporalGraph& graph)
    : graph_(&graph),
      as_source_(static_cast<std::size_t>(graph.num_entries())),
      as_destination_(as_source_.size()) {
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

Activity Roles::find(const std::vector<std::int32_t>& counts, TemporalGraph::Range entries) const {
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
