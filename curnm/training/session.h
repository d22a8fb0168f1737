#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "curnm/evaluation/results.h"
#include "curnm/prediction/trained_model.h"
#include "curnm/training/observer.h"
#include "curnm/training/run_spec.h"

namespace curnm {

class Group;

/// A run with all its parts: data, task, learner and trainer. For programs that train whole runs;
/// does not expose LibTorch.
class TrainingSession {
 public:
  /// The observer hears of options that the network decides. Throws UsageError for options that are
  /// impossible on this network, Error if it is too small.
  ///
  /// With a group, this is one of several ranks that train the same run, and all of them have to
  /// make each call of resume, train and save_checkpoint. Throws Error if their programs, data or
  /// options differ. REQUIRES: the group, unless it is null, outlives the session; the number of
  /// ranks that share a batch divides its size.
  TrainingSession(RunSpec spec, Dataset dataset, TrainObserver& observer = nobody(),
                  Group* group = nullptr);
  ~TrainingSession();
  TrainingSession(TrainingSession&&) noexcept;

  /// Every option filled in, with digest and extent of the data.
  const RunSpec& spec() const;
  const LinkTask& task() const;
  const std::vector<EpochRecord>& records() const;
  std::int64_t best_epoch() const;

  /// Continues from the run's checkpoint; of several ranks, rank 0 reads it. The observer hears
  /// what could not be continued.
  void resume(const RunFolder& folder, TrainObserver& observer = nobody());
  /// True if the training is complete, false if the observer stopped it.
  bool train(TrainObserver& observer);
  /// Of several ranks, rank 0 writes it.
  void save_checkpoint(const RunFolder& folder) const;
  /// Whether this is the rank that writes files, as the only one is.
  bool is_first() const;
  /// What rank 0 answers; of several ranks, all have to ask.
  bool as_first_says(bool mine) const;
  /// Whether ranks divide the test of a finished training among them: if their states allow it, and
  /// all of them, which have to ask, say yes. If so, all have to call `result`, and what that gives
  /// others than rank 0 is incomplete.
  bool test_together(bool mine);

  /// Tests the best weights on the test events and on the new-node test events, each from the state
  /// of `test_scorer` at the end of validation.
  nlohmann::ordered_json test(const TestRequest& request = {});
  /// What a finished training is recorded as: identity of the run, test and comparison with rules,
  /// epochs and their time.
  nlohmann::ordered_json result();
  /// Ranks true destinations among given ones by the best weights.
  Ranking rank(const RankingNegatives& negatives);
  /// The best weights for predictions, with the state after all events.
  TrainedModel trained_model();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// What predictions need from a run: its model file, or its checkpoint so far. `dataset` is the
/// network of the run, which may have grown.
TrainedModel read_trained_model(const RunFolder& folder, const RunSpec& spec,
                                const Dataset& dataset);

}  // namespace curnm
