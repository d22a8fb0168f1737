#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "curnm/evaluation/results.h"
#include "curnm/prediction/trained_model.h"
#include "curnm/training/observer.h"
#include "curnm/training/run_spec.h"

namespace curnm {

/// A run with all its parts: data, task, learner and trainer. For programs that train whole runs;
/// does not expose LibTorch.
class TrainingSession {
 public:
  /// The observer hears of options that the network decides. Throws UsageError for options that are
  /// impossible on this network, Error if it is too small.
  TrainingSession(RunSpec spec, Dataset dataset, TrainObserver& observer = nobody());
  ~TrainingSession();
  TrainingSession(TrainingSession&&) noexcept;

  /// Every option filled in, with digest and extent of the data.
  const RunSpec& spec() const;
  const LinkTask& task() const;
  const std::vector<EpochRecord>& records() const;
  std::int64_t best_epoch() const;

  /// Continues from the run's checkpoint.
  void resume(const RunFolder& folder);
  /// True if the training is complete, false if the observer stopped it.
  bool train(TrainObserver& observer);
  void save_checkpoint(const RunFolder& folder) const;

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
