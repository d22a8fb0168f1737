#include "curnm/training/trainer.h"

#include <cstring>

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

void Averages::add(const Averages& other) {
  for (const auto& [name, sum] : other.sums_) {
    sums_[name].value += sum.value;
    sums_[name].count += sum.count;
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

namespace {

/// Ranks that evaluate together.
class Evaluators final : public EvaluationTeam {
 public:
  explicit Evaluators(Group& group) : group_(group) {}
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::vector<double> join(const std::vector<double>& mine) const override {
    std::vector<double> joined;
    for (const std::string& part : group_.all_gather(
             {reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double)})) {
      const std::size_t before = joined.size();
      joined.resize(before + part.size() / sizeof(double));
      std::memcpy(joined.data() + before, part.data(), part.size());
    }
    return joined;
  }

 private:
  Group& group_;
};

/// A scorer of which each rank has one, and computes a part of the scores.
class DividedScorer final : public Scorer {
 public:
  DividedScorer(LinkModel& model, std::uint64_t seed, Group& group)
      : scorer_(model, seed), team_(group) {}
  Scores score(const Pairs& pairs, Timestamp now) override { return scorer_.score(pairs, now); }
  void observe(const EventBatch& batch) override { scorer_.observe(batch); }
  const EvaluationTeam& team() const override { return team_; }

 private:
  LinkScorer scorer_;
  Evaluators team_;
};

}  // namespace

Trainer::Trainer(const LinkTask& task, Learner learner, const TrainOptions& options, Group* group,
                 int batch_ranks)
    : task_(task),
      options_(options),
      learner_(std::move(learner)),
      ranks_(group, batch_ranks),
      has_state_(!learner_.state().empty()),
      step_(learner_, options.seed, options.path),
      early_stopping_(options.patience, options.tolerance) {
  if (ranks_.alone()) return;
  if (task.train().size() < ranks_.size()) {
    fail<UsageError>("{} training events are too few for {} ranks", task.train().size(),
                     ranks_.size());
  }
  exchange_ = std::make_unique<GradientExchange>(*group, parameters_of(learner_), batch_ranks);
  step_.exchange = exchange_.get();
  if (batch_ranks == 1) return;
  if (ranks_.teams() > 1) team_ = group->divide(batch_ranks);
  shared_ = std::make_unique<SharedBatches>(team_ ? *team_ : *group);
  step_.shared = shared_.get();
}

std::vector<std::int64_t> Trainer::boundaries(const Stretch& stretch, std::int64_t epoch) const {
  TrainOptions options = options_;
  options.batch *= ranks_.batch_ranks();
  return batch_boundaries(stretch, options, epoch);
}

/// The events of this epoch that a rank learns from.
std::vector<Stretch> Trainer::learned_by(int rank) const {
  const Stretch stretch = ranks_.stretch(task_.train().size(), progress_.epoch, rank);
  if (!shared_) return {stretch};
  const std::vector<std::int64_t> bounds = boundaries(stretch, progress_.epoch);
  std::vector<Stretch> parts;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const EventBatch part = shared_->part_of(task_.train().batch(bounds[i], bounds[i + 1]),
                                             rank - ranks_.first_of_team(rank));
    parts.push_back({part.first, part.first + part.size()});
  }
  return parts;
}

std::size_t Trainer::steps(std::int64_t epoch) const {
  std::size_t most = 0;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const Stretch stretch = ranks_.stretch(task_.train().size(), epoch, rank);
    most = std::max(most, boundaries(stretch, epoch).size() - 1);
  }
  return most;
}

/// The state before the stretch: where the rank has come to, or what the events before it leave.
void Trainer::begin_stretch(const Stretch& stretch) {
  if (stretch.begin > 0 && progress_.seen == stretch.begin) return;
  learner_.forget();
  const EvalScope scope(*learner_.model);
  const std::int64_t batch = options_.batch * ranks_.batch_ranks();
  for (std::int64_t first = 0; first < stretch.begin; first += batch) {
    learner_.observe(task_.train().batch(first, std::min(first + batch, stretch.begin)));
  }
}

/// The paper's loop. Returns false when the observer asked to stop.
bool Trainer::train_epoch(TrainObserver& observer) {
  const Stretch stretch = ranks_.stretch(task_.train().size(), progress_.epoch);
  const std::vector<std::int64_t> bounds = boundaries(stretch, progress_.epoch);
  const std::size_t steps = this->steps(progress_.epoch);
  learner_.use(task_.train_past());
  if (progress_.batch == 0) begin_stretch(stretch);
  learner_.train();
  learner_.miner->begin_epoch(progress_.epoch);
  StageClock clock(progress_.current);
  bool stop = ranks_.any(observer.stop_requested());
  const double before = ranks_.seconds_in_calls();
  for (; progress_.batch < steps; ++progress_.batch) {
    if (stop) return false;
    if (progress_.batch + 1 < bounds.size()) {
      const EventBatch batch =
          task_.train().batch(bounds[progress_.batch], bounds[progress_.batch + 1]);
      const Mined mined = step_.run(batch, progress_.epoch, clock);
      progress_.losses.add(mined.losses);
      progress_.measures.add(mined.measures);
    } else {
      step_.run_without_batch(clock);
    }
    observer.on_batch(progress_.epoch, static_cast<std::int64_t>(progress_.batch) + 1,
                      static_cast<std::int64_t>(steps));
    stop = observer.stop_requested();
    if (exchange_) stop = exchange_->stop_wished(stop);
  }
  waited_ = ranks_.seconds_in_calls() - before;
  progress_.seen = stretch.end;
  return true;
}

/// Makes what the ranks know about an epoch the same on all of them.
void Trainer::share_epoch(TrainObserver& observer) {
  if (ranks_.alone()) return;
  ranks_.share(*learner_.miner, [&](int rank) { return learned_by(rank); });
  const ordered_json mine = {{"losses", progress_.losses.to_json()},
                             {"measures", progress_.measures.to_json()},
                             {"seconds", progress_.current.training_seconds()},
                             {"waited", waited_}};
  progress_.losses = progress_.measures = {};
  std::vector<double> waited;
  double seconds = 0;
  for (const std::string& text : ranks_.all(mine.dump())) {
    const ordered_json json = ordered_json::parse(text);
    progress_.losses.add(Averages::from_json(json.at("losses")));
    progress_.measures.add(Averages::from_json(json.at("measures")));
    waited.push_back(json.at("waited"));
    seconds = std::max(seconds, json.at("seconds").get<double>());
  }
  report_straggler(waited, seconds, observer);
  if (ranks_.take_weights_of_first(learner_)) {
    observer.on_note(
        "the ranks round differently, which other processors do: from time to time all go on with "
        "the weights of rank 0");
  }
}

/// Once for each: a host that is always slow would fill the output.
void Trainer::report_straggler(const std::vector<double>& waited, double seconds,
                               TrainObserver& observer) {
  const std::optional<Straggler> found = find_straggler(waited, seconds);
  if (!found || found->rank == straggler_) return;
  straggler_ = found->rank;
  observer.on_note(
      fmt::format("{} is slow: in epoch {} others waited up to {:.1f} of {:.1f} s for it",
                  ranks_.group()->name_of(found->rank), progress_.epoch, found->seconds, seconds));
}

void Trainer::explain(const DivergedLoss& error) const {
  if (progress_.epoch == 0 && progress_.batch == 0) {
    fail("{} in the very first batch: times or features may be too large", error.what());
  }
  fail("{} in epoch {}, batch {}{}. A smaller --learning-rate usually helps", error.what(),
       progress_.epoch, progress_.batch,
       progress_.epoch > 0 ? "; the last checkpoint is unharmed" : "");
}

bool Trainer::evaluates_together() const {
  return !ranks_.alone() && (!has_state_ || ranks_.teams() == 1);
}

std::unique_ptr<Scorer> Trainer::scorer(bool together) {
  if (!together) return std::make_unique<LinkScorer>(learner_, options_.seed);
  return std::make_unique<DividedScorer>(learner_, options_.seed, *ranks_.group());
}

void Trainer::share_best() {
  const std::string bytes = ranks_.first() ? packed(progress_.best) : "";
  progress_.best = unpacked(ranks_.group()->broadcast(bytes, /*from=*/0));
}

/// Validation from the state at the end of training; leaves that state.
Validation Trainer::validate(bool together) {
  const std::vector<Tensor> train_end = learner_.state();
  learner_.use(task_.past());
  const std::unique_ptr<Scorer> scorer = this->scorer(together);
  const std::vector<Protocol> asked =
      measured(task_.validation(), protocols_of(options_.goal, options_.select_on));
  Validation found;
  for (const ProtocolScores& scores :
       score_protocols(*scorer, task_.validation(), asked, task_.evaluation_batch())) {
    found.ap[std::string(name_of(scores.protocol))] =
        link_metrics(scores.fitting.positives, scores.fitting.negatives, task_.evaluation_batch())
            .ap;
  }
  found.metric = ap_of(found.ap, options_.goal, options_.select_on);
  if (options_.select_on == SelectOn::kMrr) {
    learner_.set_state(train_end);
    found.mrr =
        rank_destinations(*scorer, task_.validation(), task_, task_.options().rank_among).mrr;
    found.metric = *found.mrr;
  }
  learner_.set_state(train_end);
  return found;
}

void Trainer::keep_best() {
  TensorFile best;
  if (ranks_.rank() == ranks_.last_of_stream(progress_.epoch)) {
    best.put("model", *learner_.model);
    best.put("decoder", *learner_.decoder);
    best.put("state", learner_.state());
  }
  progress_.best = ranks_.to_first(std::move(best), progress_.epoch);
}

void Trainer::finish_epoch(TrainObserver& observer) {
  EpochRecord& record = progress_.current;
  StageClock clock(record);
  share_epoch(observer);
  record.epoch = progress_.epoch;
  record.losses = progress_.losses.means();
  record.mining = progress_.measures.means();
  record.mining.merge(learner_.miner->telemetry());
  progress_.losses = progress_.measures = {};
  const bool together = evaluates_together();
  const bool validates = together || ranks_.rank() == ranks_.last_of_stream(progress_.epoch);
  const Validation validation =
      ranks_.from_last(validates ? validate(together) : Validation{}, progress_.epoch);
  record.validation_ap = ap_of(validation.ap, options_.goal, options_.select_on);
  record.validation_mrr = validation.mrr;
  record.validation = validation.ap;
  record.best = early_stopping_.record(progress_.epoch, validation.metric);
  if (record.best) keep_best();
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
