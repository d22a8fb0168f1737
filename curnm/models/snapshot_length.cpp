#include "curnm/models/snapshot_length.h"

#include <algorithm>

#include "curnm/graph/distinct_nodes.h"

namespace curnm {

double suitable_snapshot_length(const RunFacts& facts, std::int64_t snapshots) {
  if (facts.median_step == 0) return 1;  // all events at one time: any length will do
  return std::max(facts.median_step, facts.time_per_node / static_cast<double>(snapshots));
}

void add_pace(const EventLog& train, RunFacts& facts) {
  std::vector<NodeId> nodes(train.src.begin(), train.src.end());
  nodes.insert(nodes.end(), train.dst.begin(), train.dst.end());
  const auto count = static_cast<double>(distinct_nodes(std::move(nodes)).size());
  facts.median_step = median_step(train);
  facts.time_per_node =
      (train.time.back() - train.time.front()) * count / static_cast<double>(train.size());
}

}  // namespace curnm
