#include "curnm/training/snapshot_length.h"

#include <algorithm>

namespace curnm {

double suitable_snapshot_length(const EventLog& log, std::int64_t snapshots) {
  const Timestamp step = median_step(log);
  if (step == 0) return 1;
  const double span = log.time.back() - log.time.front();
  return std::max(step, span * log.num_nodes / static_cast<double>(log.size() * snapshots));
}

}  // namespace curnm
