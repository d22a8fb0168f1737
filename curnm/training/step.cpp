#include "curnm/training/step.h"

#include <cmath>

namespace curnm {

Candidates TrainingStep::propose(const EventBatch& batch, std::int64_t epoch) const {
  return learner_.miner->propose(batch, key(Stream::kCandidates, epoch));
}

Mined TrainingStep::learn(const EventBatch& batch, const Candidates& candidates, std::int64_t epoch,
                          StageClock& clock) {
  const Links links(batch, candidates);
  const Model& model = *learner_.model;
  const auto sample = model.sample(links.roots(), batch.whole_time().front(),
                                   key(Stream::kTrainingNeighbors, epoch));
  clock.mark(Stage::kSample);
  const Embedded embedded{links,
                          model.embed(links.roots(), sample.get(), key(Stream::kDropout, epoch)),
                          path_, batch.is_part() ? *shared : whole_batch()};
  clock.mark(Stage::kEmbed);
  Mined mined = learner_.miner->mine(batch, candidates, embedded, *learner_.decoder);
  clock.mark(Stage::kMine);
  if (!std::isfinite(add_up(batch, mined))) throw DivergedLoss(mined.loss.item<double>());
  learner_.optimizer->zero_grad();
  // Gradients of ranks that share a batch are added up, also those of all of it.
  const bool repeated = shared != nullptr && !batch.is_part();
  (repeated ? mined.loss / shared->ranks() : mined.loss).backward();
  clock.mark(Stage::kBackward);
  return mined;
}

double TrainingStep::add_up(const EventBatch& batch, Mined& mined) const {
  const double loss = mined.loss.item<double>();
  if (!batch.is_part()) return loss;
  std::vector<double> sums = {loss};
  for (const auto& [name, value] : mined.losses) sums.push_back(value);
  shared->sum(sums);
  auto sum = sums.begin();
  for (auto& [name, value] : mined.losses) value = *++sum;
  return sums.front();
}

Mined TrainingStep::run(const EventBatch& batch, std::int64_t epoch, StageClock& clock) {
  const EventBatch mine = shared != nullptr ? shared->part_of(batch) : batch;
  const Candidates candidates = propose(mine, epoch);
  clock.mark(Stage::kPropose);
  Mined mined;
  try {
    mined = learn(mine, candidates, epoch, clock);
  } catch (const DivergedLoss& error) {
    if (exchange != nullptr) exchange->report_divergence(error.loss());
    throw;
  }
  update(/*has_batch=*/true, clock);
  learner_.observe(batch);  // memory and mail: positives only, after the step
  learner_.miner->observe(mine, candidates, mined);
  clock.mark(Stage::kObserve);
  return mined;
}

void TrainingStep::run_without_batch(StageClock& clock) {
  learner_.optimizer->zero_grad();
  update(/*has_batch=*/false, clock);
}

void TrainingStep::update(bool has_batch, StageClock& clock) {
  if (exchange != nullptr) {
    exchange->run(has_batch);
    clock.mark(Stage::kExchange);
  }
  if (before_update) before_update(learner_);
  learner_.optimizer->step();
  clock.mark(Stage::kOptimise);
}

}  // namespace curnm
