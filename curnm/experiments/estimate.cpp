#include "curnm/experiments/estimate.h"

#include <algorithm>
#include <cmath>

namespace curnm {
namespace {

/// Milliseconds per event of a network and epoch with random negatives: uci, one core of a Xeon at
/// 2.8 GHz.
double random_rate(const std::string& model) {
  if (model == "jodie") return 0.024;
  return model == "dysat" ? 0.13 : 0.08;
}
constexpr double kCurnmToRandom = 3.5;

}  // namespace

double estimated_seconds(const Job& job, std::int64_t events, std::int64_t epochs,
                         const ResultSet& known) {
  double of_network = 0, elsewhere = 0;  // sums of seconds per epoch; per training event and epoch
  int runs_of_network = 0, runs_elsewhere = 0;
  for (const RunResult& run : known.runs) {
    if (run.state != RunState::kDone || run.model != job.model || run.miner != job.miner) continue;
    if (std::isnan(run.seconds_per_epoch)) continue;
    if (run.network == job.network) {
      of_network += run.seconds_per_epoch;
      ++runs_of_network;
    } else if (run.training_events > 0) {
      elsewhere += run.seconds_per_epoch / static_cast<double>(run.training_events);
      ++runs_elsewhere;
    }
  }
  const auto all_epochs = static_cast<double>(epochs);
  const auto all_events = static_cast<double>(events);
  constexpr double kWithValidation = 1.1;  // 1.05 for curnm, 1.2 for quicker miners
  if (runs_of_network > 0) return kWithValidation * of_network / runs_of_network * all_epochs;
  constexpr double kTrainingShare = 0.5;  // of the events: 70 % without those of hidden nodes
  if (runs_elsewhere > 0) {
    return kWithValidation * elsewhere / runs_elsewhere * kTrainingShare * all_events * all_epochs;
  }
  const double rate = random_rate(job.model) * (job.miner == "curnm" ? kCurnmToRandom : 1);
  return rate / 1000 * all_events * all_epochs;
}

double side_by_side(std::span<const double> seconds, std::int64_t workers) {
  double sum = 0, longest = 0;
  for (double of_run : seconds) {
    sum += of_run;
    longest = std::max(longest, of_run);
  }
  return std::max(longest, sum / static_cast<double>(workers));
}

}  // namespace curnm
