#pragma once

#include <chrono>
#include <functional>

#include "curnm/training/gradient_exchange.h"
#include "curnm/training/learner.h"
#include "curnm/training/shared_batches.h"

namespace curnm {

/// Adds the time since the last mark to a stage of a record.
class StageClock {
 public:
  explicit StageClock(EpochRecord& record) : record_(record) {}
  void mark(Stage stage) {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    record_.stages[static_cast<std::size_t>(stage)] += seconds;
    record_.seconds += seconds;
    last_ = now;
  }

 private:
  EpochRecord& record_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// The loss of a batch is not a finite number.
class DivergedLoss : public Error {
 public:
  /// `where`: on which of several ranks, to be named.
  explicit DivergedLoss(double loss, const std::string& where = "")
      : Error(fmt::format("the loss{} became {}", where, loss)), loss_(loss) {}
  double loss() const { return loss_; }

 private:
  double loss_;
};

/// One step of training: the paper's loop body. Trainer, benchmarks and tests all use it.
///
/// Every draw of a step is keyed by (seed, purpose, epoch) and by the event, or the node and time,
/// that it is for: it does not depend on the batch of an event.
class TrainingStep {
 public:
  /// REQUIRES: the learner outlives this object.
  TrainingStep(Learner& learner, std::uint64_t seed, Path path)
      : learner_(learner), seed_(seed), path_(path) {}

  /// Called between the gradients and the optimiser, with both in place.
  std::function<void(Learner&)> before_update;

  /// For a training on several ranks: makes the gradients the same on all of them. Null: there is
  /// one. REQUIRES: outlives this object.
  GradientExchange* exchange = nullptr;

  /// Where ranks share batches: how. Null: each has batches of its own. REQUIRES: outlives this
  /// object.
  const SharedBatches* shared = nullptr;

  /// Learns from the batch, or from this rank's part of it, and shows it to model and miner. Throws
  /// DivergedLoss before changing anything.
  Mined run(const EventBatch& batch, std::int64_t epoch, StageClock& clock);

  /// The step of a rank that has no batch while others have: it learns from theirs.
  void run_without_batch(StageClock& clock);

  // The parts of a step, for callers that work between them.
  Candidates propose(const EventBatch& batch, std::int64_t epoch) const;
  /// The loss of a batch, or of a part of one, against these candidates, and its gradients; no
  /// step. The losses that it returns are those of the whole batch.
  Mined learn(const EventBatch& batch, const Candidates& candidates, std::int64_t epoch,
              StageClock& clock);

 private:
  /// The loss itself. Where ranks share the batch, makes `mined.losses` those of all of it; what is
  /// not finite on one of them, then is so on all.
  double add_up(const EventBatch& batch, Mined& mined) const;
  /// Gradients of all ranks, then the optimiser.
  void update(bool has_batch, StageClock& clock);
  Rng key(Stream purpose, std::int64_t epoch) const {
    return Rng(seed_, purpose, static_cast<std::uint64_t>(epoch));
  }

  Learner& learner_;
  std::uint64_t seed_;
  Path path_;
};

}  // namespace curnm
