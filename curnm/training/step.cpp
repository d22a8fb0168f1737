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
  const auto sample =
      model.sample(links.roots(), batch.time.front(), key(Stream::kTrainingNeighbors, epoch));
  clock.mark(Stage::kSample);
  const Embedded embedded{
      links, model.embed(links.roots(), sample.get(), key(Stream::kDropout, epoch)), path_};
  clock.mark(Stage::kEmbed);
  Mined mined = learner_.miner->mine(batch, candidates, embedded, *learner_.decoder);
  clock.mark(Stage::kMine);
  const double loss = mined.loss.item<double>();
  if (!std::isfinite(loss)) throw DivergedLoss(loss);
  learner_.optimizer->zero_grad();
  mined.loss.backward();
  clock.mark(Stage::kBackward);
  return mined;
}

Mined TrainingStep::run(const EventBatch& batch, std::int64_t epoch, StageClock& clock) {
  const Candidates candidates = propose(batch, epoch);
  clock.mark(Stage::kPropose);
  Mined mined;
  try {
    mined = learn(batch, candidates, epoch, clock);
  } catch (const DivergedLoss& error) {
    if (exchange != nullptr) exchange->report_divergence(error.loss());
    throw;
  }
  update(/*has_batch=*/true, clock);
  learner_.observe(batch);  // memory and mail: positives only, after the step
  learner_.miner->observe(batch, candidates, mined);
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
