#include "curnm/training/snapshot_length.h"

#include <algorithm>
#include <vector>

namespace curnm {

double suitable_snapshot_length(const EventLog& log, std::int64_t snapshots) {
  std::vector<double> steps;
  for (EventId e = 1; e < log.size(); ++e) {
    if (log.time[e] > log.time[e - 1]) steps.push_back(log.time[e] - log.time[e - 1]);
  }
  if (steps.empty()) return 1;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  const double span = log.time.back() - log.time.front();
  return std::max(*middle, span * log.num_nodes / static_cast<double>(log.size() * snapshots));
}

}  // namespace curnm
