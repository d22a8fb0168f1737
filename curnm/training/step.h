#pragma once

#include <chrono>
#include <functional>

#include "curnm/training/learner.h"

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
  explicit DivergedLoss(double loss) : Error(fmt::format("the loss became {}", loss)) {}
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

  /// Learns from the batch and shows it to model and miner. Throws DivergedLoss before changing
  /// anything.
  Mined run(const EventBatch& batch, std::int64_t epoch, StageClock& clock);

  // The parts of a step, for callers that work between them.
  Candidates propose(const EventBatch& batch, std::int64_t epoch) const;
  /// The loss of the batch against these candidates, and its gradients; no step.
  Mined learn(const EventBatch& batch, const Candidates& candidates, std::int64_t epoch,
              StageClock& clock);

 private:
  Rng key(Stream purpose, std::int64_t epoch) const {
    return Rng(seed_, purpose, static_cast<std::uint64_t>(epoch));
  }

  Learner& learner_;
  std::uint64_t seed_;
  Path path_;
};

}  // namespace curnm
