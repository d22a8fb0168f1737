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

Estimates::Estimates(const ResultSet& known) {
  for (const RunResult& run : known.runs) {
    if (run.state != RunState::kDone || std::isnan(run.seconds_per_epoch)) continue;
    const Components components(run.model, run.miner);
    Mean& here = on_network_[{components, run.network}];
    here.sum += run.seconds_per_epoch;
    ++here.count;
    if (run.training_events <= 0) continue;
    Mean& all = anywhere_[components];
    all.sum += run.seconds_per_epoch / static_cast<double>(run.training_events);
    ++all.count;
  }
}

double Estimates::seconds(const Job& job, std::int64_t events, std::int64_t epochs) const {
  const Components components(job.model, job.miner);
  const auto all_epochs = static_cast<double>(epochs);
  const auto all_events = static_cast<double>(events);
  constexpr double kWithValidation = 1.1;  // 1.05 for curnm, 1.2 for quicker miners
  if (const auto here = on_network_.find({components, job.network}); here != on_network_.end()) {
    return kWithValidation * here->second.sum / here->second.count * all_epochs;
  }
  constexpr double kTrainingShare = 0.5;  // of the events: 70 % without those of hidden nodes
  if (const auto there = anywhere_.find(components); there != anywhere_.end()) {
    return kWithValidation * there->second.sum / there->second.count * kTrainingShare * all_events *
           all_epochs;
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
