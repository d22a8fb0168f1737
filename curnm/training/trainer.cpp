#include "curnm/training/trainer.h"

#include "curnm/evaluation/evaluate.h"
#include "curnm/evaluation/measured.h"
#include "curnm/prediction/link_scorer.h"

namespace curnm {

using nlohmann::ordered_json;

void Averages::add(const std::map<std::string, double>& values) {
  for (const auto& [name, value] : values) {
    Sum& sum = sums_[name];
    sum.value += value;
    ++sum.count;
  }
}

std::map<std::string, double> Averages::means() const {
  std::map<std::string, double> means;
  for (const auto& [name, sum] : sums_) means[name] = sum.value / static_cast<double>(sum.count);
  return means;
}

ordered_json Averages::to_json() const {
  ordered_json json = ordered_json::object();
  for (const auto& [name, sum] : sums_) json[name] = {sum.value, sum.count};
  return json;
}

Averages Averages::from_json(const ordered_json& json) {
  Averages averages;
  for (const auto& [name, sum] : json.items()) {
    averages.sums_[name] = {sum.at(0), sum.at(1)};
    check_saved(averages.sums_[name].count > 0, "an average is of nothing");
  }
  return averages;
}

Trainer::Trainer(const LinkTask& task, Learner learner, const TrainOptions& options)
    : task_(task),
      options_(options),
      learner_(std::move(learner)),
      step_(learner_, options.seed, options.path),
      early_stopping_(options.patience, options.tolerance) {}

/// The paper's loop. Returns false when the observer asked to stop.
bool Trainer::train_epoch(TrainObserver& observer) {
  const std::vector<std::int64_t> bounds = batch_boundaries(task_, options_, progress_.epoch);
  if (progress_.batch == 0) learner_.forget();
  learner_.use(task_.train_past());
  learner_.train();
  learner_.miner->begin_epoch(progress_.epoch);
  StageClock clock(progress_.current);
  for (; progress_.batch + 1 < bounds.size(); ++progress_.batch) {
    if (observer.stop_requested()) return false;
    const EventBatch batch =
        task_.train().batch(bounds[progress_.batch], bounds[progress_.batch + 1]);
    const Mined mined = step_.run(batch, progress_.epoch, clock);
    progress_.losses.add(mined.losses);
    progress_.measures.add(mined.measures);
    observer.on_batch(progress_.epoch, static_cast<std::int64_t>(progress_.batch) + 1,
                      std::ssize(bounds) - 1);
  }
  return true;
}

void Trainer::explain(const DivergedLoss& error) const {
  if (progress_.epoch == 0 && progress_.batch == 0) {
    fail("{} in the very first batch: times or features may be too large", error.what());
  }
  fail("{} in epoch {}, batch {}{}. A smaller --learning-rate usually helps", error.what(),
       progress_.epoch, progress_.batch,
       progress_.epoch > 0 ? "; the last checkpoint is unharmed" : "");
}

/// Validation from the state at the end of training; leaves that state.
Validation Trainer::validate() {
  const std::vector<Tensor> train_end = learner_.state();
  learner_.use(task_.past());
  LinkScorer scorer(learner_, options_.seed);
  const std::vector<Protocol> asked =
      measured(task_.validation(), protocols_of(options_.goal, options_.select_on));
  Validation found;
  for (const ProtocolScores& scores :
       score_protocols(scorer, task_.validation(), asked, task_.evaluation_batch())) {
    found.ap[std::string(name_of(scores.protocol))] =
        link_metrics(scores.fitting.positives, scores.fitting.negatives, task_.evaluation_batch())
            .ap;
  }
  found.metric = ap_of(found.ap, options_.goal, options_.select_on);
  if (options_.select_on == SelectOn::kMrr) {
    learner_.set_state(train_end);
    found.mrr =
        rank_destinations(scorer, task_.validation(), task_, task_.options().rank_among).mrr;
    found.metric = *found.mrr;
  }
  learner_.set_state(train_end);
  return found;
}

void Trainer::finish_epoch(TrainObserver& observer) {
  EpochRecord& record = progress_.current;
  StageClock clock(record);
  record.epoch = progress_.epoch;
  record.losses = progress_.losses.means();
  record.mining = progress_.measures.means();
  record.mining.merge(learner_.miner->telemetry());
  progress_.losses = progress_.measures = {};
  const Validation validation = validate();
  record.validation_ap = ap_of(validation.ap, options_.goal, options_.select_on);
  record.validation_mrr = validation.mrr;
  record.validation = validation.ap;
  record.best = early_stopping_.record(progress_.epoch, validation.metric);
  if (record.best) {
    progress_.best = {};
    progress_.best.put("model", *learner_.model);
    progress_.best.put("decoder", *learner_.decoder);
    progress_.best.put("state", learner_.state());
  }
  record.mining.merge(learner_.miner->end_epoch(validation));
  clock.mark(Stage::kValidate);
  progress_.records.push_back(record);
  progress_.current = {};
  ++progress_.epoch;
  progress_.batch = 0;
  observer.on_epoch(progress_.records.back());
}

TrainOutcome Trainer::run(TrainObserver& observer) {
  check_goal(task_.validation(), options_.goal, options_.select_on);
  if (progress_.epoch == 0 && progress_.batch == 0) {
    for (const std::string& note : learner_.miner->notes()) observer.on_note(note);
  }
  try {
    while (progress_.epoch < options_.epochs) {
      if (early_stopping_.should_stop(progress_.epoch)) return TrainOutcome::kStoppedEarly;
      if (!train_epoch(observer)) return TrainOutcome::kInterrupted;
      finish_epoch(observer);
    }
  } catch (const DivergedLoss& error) {
    explain(error);
  }
  return TrainOutcome::kFinished;
}

void Trainer::restore_best() {
  if (!early_stopping_.has_best()) {
    fail("the run has not finished an epoch yet: there is nothing to evaluate");
  }
  progress_.best.restore("model", *learner_.model);
  progress_.best.restore("decoder", *learner_.decoder);
  learner_.use(task_.past());
  learner_.set_state(progress_.best.list("state"));
}

}  // namespace curnm
