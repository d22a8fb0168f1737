#pragma once

#include <map>
#include <string>
#include <vector>

#include "curnm/evaluation/scorer.h"
#include "curnm/evaluation/task.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/training/batches.h"
#include "curnm/training/early_stopping.h"
#include "curnm/training/observer.h"
#include "curnm/training/ranks.h"
#include "curnm/training/step.h"

namespace curnm {

/// Averages of named values, each over the batches that have it.
class Averages {
 public:
  void add(const std::map<std::string, double>& values);
  /// Adds the values of another rank.
  void add(const Averages& other);
  std::map<std::string, double> means() const;
  nlohmann::ordered_json to_json() const;
  static Averages from_json(const nlohmann::ordered_json& json);

 private:
  struct Sum {
    double value = 0;
    std::int64_t count = 0;
  };
  std::map<std::string, Sum> sums_;
};

/// How far a training has come.
struct Progress {
  std::int64_t epoch = 0;
  std::size_t batch = 0;  // the next one of this epoch
  std::int64_t seen = 0;  // events that the state has seen when the epoch begins
  EpochRecord current;    // of the current epoch
  Averages losses;        // of this epoch
  Averages measures;
  std::vector<EpochRecord> records;
  TensorFile best;  // weights of the best epoch, and the state at its end; at rank 0 only
};

enum class TrainOutcome { kFinished, kStoppedEarly, kInterrupted };

/// Trains a learner on a task.
///
/// All mutable state is in the learner, in `progress` and in `early_stopping`: checkpoint.h saves
/// and restores them, and a trainer resumed from there reaches the same bits, on the fast path with
/// any number of threads.
///
/// With a group, this is one of several ranks that train together (ranks.h), each with its own
/// place in the stream, or its part of the batches; `run` is then for all of them to call.
class Trainer {
 public:
  /// REQUIRES: task and group outlive the trainer. Throws UsageError if there are too few events
  /// for that many ranks. `batch_ranks` of them share each batch, which has `options.batch`
  /// positives for each of them. REQUIRES: `batch_ranks` divides their number.
  Trainer(const LinkTask& task, Learner learner, const TrainOptions& options,
          Group* group = nullptr, int batch_ranks = 1);

  /// Trains until the epochs are over, validation stops improving, or the observer asks to stop.
  /// Throws Error when the loss is no longer a finite number, OptionError if validation cannot
  /// measure the goal.
  TrainOutcome run(TrainObserver& observer);

  /// The weights of the best epoch, and the model's state at its end. Throws Error if there is none
  /// yet.
  void restore_best();

  /// Whether the ranks divide evaluations among them: they can where they have the same state.
  bool evaluates_together() const;
  /// The scorer of an evaluation, divided where `together`.
  std::unique_ptr<Scorer> scorer(bool together);
  /// Gives all ranks what rank 0 has kept of the best epoch.
  void share_best();

  /// Steps of an epoch: those of the rank with most batches.
  std::size_t steps(std::int64_t epoch) const;

  const Ranks& ranks() const { return ranks_; }
  const LinkTask& task() const { return task_; }
  const TrainOptions& options() const { return options_; }
  Learner& learner() { return learner_; }
  const Learner& learner() const { return learner_; }
  TrainingStep& step() { return step_; }
  Progress& progress() { return progress_; }
  const Progress& progress() const { return progress_; }
  EarlyStopping& early_stopping() { return early_stopping_; }
  const EarlyStopping& early_stopping() const { return early_stopping_; }
  const std::vector<EpochRecord>& records() const { return progress_.records; }

 private:
  std::vector<std::int64_t> boundaries(const Stretch& stretch, std::int64_t epoch) const;
  std::vector<Stretch> learned_by(int rank) const;
  bool train_epoch(TrainObserver& observer);
  void begin_stretch(const Stretch& stretch);
  void share_epoch(TrainObserver& observer);
  void report_straggler(const std::vector<double>& waited, double seconds, TrainObserver& observer);
  Validation validate(bool together);
  void keep_best();
  void finish_epoch(TrainObserver& observer);
  [[noreturn]] void explain(const DivergedLoss& error) const;

  const LinkTask& task_;
  TrainOptions options_;
  Learner learner_;
  Ranks ranks_;
  std::unique_ptr<Group> team_;            // null unless some ranks, but not all, share batches
  std::unique_ptr<SharedBatches> shared_;  // null unless ranks share batches
  std::unique_ptr<GradientExchange> exchange_;  // null for one rank
  bool has_state_;                              // of the stream
  TrainingStep step_;
  EarlyStopping early_stopping_;
  Progress progress_;
  double waited_ = 0;   // for other ranks, in the steps of this epoch
  int straggler_ = -1;  // the last one that was reported
};

}  // namespace curnm
