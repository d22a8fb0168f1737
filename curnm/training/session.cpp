#include "curnm/training/session.h"

#include "curnm/base/json.h"
#include "curnm/base/version.h"
#include "curnm/distributed/shared_memory.h"
#include "curnm/prediction/link_scorer.h"
#include "curnm/prediction/predictor.h"
#include "curnm/prediction/replay.h"
#include "curnm/training/checkpoint.h"
#include "curnm/training/facts.h"
#include "curnm/training/same_run.h"
#include "curnm/training/trainer.h"

namespace curnm {
namespace {

RunSpec completed(RunSpec spec, const LinkTask& task, TrainObserver& observer, Group* group) {
  if (group != nullptr) check_same_run(*group, spec, task);
  if (group == nullptr || group->rank() == 0) complete(spec, task, observer);
  if (group != nullptr) {
    set_options(spec, parse_json(group->broadcast(options_json(spec).dump(), /*from=*/0)));
    spec.ranks = group->size();
  }
  spec.data_digest = task.data_digest();
  spec.extent = task.dataset().extent();
  spec.columns = task.dataset().column_digests();
  spec.stretches = task.dataset().stretch_digests(task.dataset().events.size());
  return spec;
}

TrainedModel trained_model_of(const RunSpec& spec, const LinkTask& task, const Learner& learner,
                              std::shared_ptr<const TensorFile> best) {
  const Dataset& dataset = task.dataset();
  const TrainingTimes times = training_times(spec, task);
  return {.version = std::string(kVersion),
          .model = spec.train.model,
          .model_options = spec.model,
          .decoder = spec.train.decoder,
          .decoder_options = spec.decoder,
          .outputs = learner.decoder->outputs(),
          .seed = spec.train.seed,
          .input_seed = input_seed(spec),
          .path = spec.train.path,
          .device = spec.train.device,
          .batch = spec.task.evaluation_batch,
          .data = spec.data,
          .read = spec.read,
          .data_digest = spec.data_digest,
          .extent = spec.extent,
          .first_time = times.first,
          .last_time = times.last,
          .first_unseen = task.split().first_test,
          .edge_features = dataset.edge_features.width,
          .ids = dataset.ids,
          .node_features = dataset.node_features,
          .scales = learner.scales,
          .tensors = std::move(best)};
}

/// The weights alone: the state at the end of training has not seen the events of hidden nodes.
std::shared_ptr<const TensorFile> weights_of(const TensorFile& best) {
  auto weights = std::make_shared<TensorFile>();
  for (const auto& [name, tensor] : best.tensors) {
    if (name.starts_with("model/") || name.starts_with("decoder/")) {
      weights->tensors[name] = tensor;
    }
  }
  return weights;
}

}  // namespace

struct TrainingSession::Parts {
  Parts(RunSpec given, Dataset dataset, TrainObserver& observer, Group* group)
      : task(std::move(dataset), given.task),
        spec(completed(std::move(given), task, observer, group)),
        trainer(task, make_learner(spec, task), spec.train, group,
                group == nullptr ? 1 : static_cast<int>(spec.batch_ranks)) {
    if (group == nullptr) return;
    std::vector<std::span<const std::byte>> indices;
    task.visit_memory([&](auto pages) { indices.push_back(pages); });
    share_memory(*group, indices);
  }

  /// The best weights, and the state before the event. REQUIRES: it is not before validation.
  Learner& best_before(EventId event) {
    trainer.restore_best();
    Learner& learner = trainer.learner();
    Replay replay(learner, task.log(), task.evaluation_batch());
    replay.begin_at(task.split().first_validation);
    replay.advance_to(event);
    return learner;
  }

  LinkTask task;
  RunSpec spec;
  Trainer trainer;
  bool tests_together = false;
};

TrainingSession::TrainingSession(RunSpec spec, Dataset dataset, TrainObserver& observer,
                                 Group* group)
    : parts_(std::make_unique<Parts>(std::move(spec), std::move(dataset), observer, group)) {}
TrainingSession::~TrainingSession() = default;
TrainingSession::TrainingSession(TrainingSession&&) noexcept = default;

const RunSpec& TrainingSession::spec() const { return parts_->spec; }
const LinkTask& TrainingSession::task() const { return parts_->task; }
const std::vector<EpochRecord>& TrainingSession::records() const {
  return parts_->trainer.records();
}
std::int64_t TrainingSession::best_epoch() const {
  return parts_->trainer.early_stopping().best_epoch();
}

void TrainingSession::resume(const RunFolder& folder, TrainObserver& observer) {
  const Ranks& ranks = parts_->trainer.ranks();
  TensorFile checkpoint;
  if (ranks.first()) checkpoint = read_checkpoint(folder);
  if (!ranks.alone()) {
    const std::string bytes = ranks.first() ? packed(checkpoint) : "";
    checkpoint = unpacked(ranks.group()->broadcast(bytes, /*from=*/0));
  }
  for (const std::string& note : restore(checkpoint, parts_->spec, parts_->trainer)) {
    observer.on_note(note);
  }
}

bool TrainingSession::is_first() const { return parts_->trainer.ranks().first(); }

bool TrainingSession::as_first_says(bool mine) const {
  return parts_->trainer.ranks().as_first_says(mine);
}

bool TrainingSession::test_together(bool mine) {
  Trainer& trainer = parts_->trainer;
  parts_->tests_together = trainer.evaluates_together() && !trainer.ranks().any(!mine);
  if (parts_->tests_together) trainer.share_best();
  return parts_->tests_together;
}

bool TrainingSession::train(TrainObserver& observer) {
  return parts_->trainer.run(observer) != TrainOutcome::kInterrupted;
}

void TrainingSession::save_checkpoint(const RunFolder& folder) const {
  const TensorFile checkpoint = checkpoint_of(parts_->trainer, parts_->spec);
  if (is_first()) curnm::save_checkpoint(checkpoint, folder.checkpoint());
}

nlohmann::ordered_json TrainingSession::test(const TestRequest& request) {
  const LinkTask& task = parts_->task;
  Learner& learner = parts_->best_before(task.split().first_test);
  const std::vector<Tensor> validation_end = learner.state();
  return test_scorer(task, request, [&] {
    learner.set_state(validation_end);
    return parts_->trainer.scorer(parts_->tests_together);
  });
}

nlohmann::ordered_json TrainingSession::result() {
  const TestRequest request{.rank_among = spec().task.rank_among};
  nlohmann::ordered_json result = identity_json(spec(), task().dataset().name);
  result.update(test(request));
  parts_->tests_together = false;
  if (!is_first()) return result;
  add_comparison(task(), request, result);
  double seconds = 0;
  for (const EpochRecord& record : records()) seconds += record.training_seconds();
  result["epochs"] = records().size();
  result["best_epoch"] = best_epoch();
  result["seconds_per_epoch"] = seconds / static_cast<double>(records().size());
  result["training_events"] = task().train().size();
  return result;
}

Ranking TrainingSession::rank(const RankingNegatives& negatives) {
  const Split& split = parts_->task.split();
  Learner& learner = parts_->best_before(
      negatives.part == RankedPart::kTest ? split.first_test : split.first_validation);
  LinkScorer scorer(learner, parts_->spec.train.seed);
  return rank_destinations(scorer, parts_->task, negatives);
}

TrainedModel TrainingSession::trained_model() {
  TrainedModel model = trained_model_of(parts_->spec, parts_->task, parts_->trainer.learner(),
                                        weights_of(parts_->trainer.progress().best));
  add_state(model, parts_->task.dataset());
  return model;
}

TrainedModel read_trained_model(const RunFolder& folder, const RunSpec& spec,
                                const Dataset& dataset) {
  if (std::filesystem::exists(folder.model())) return load_model(folder.model());
  TrainingSession session(spec, dataset.head(spec.extent));
  session.resume(folder);
  return session.trained_model();
}

}  // namespace curnm
