#pragma once

#include <memory>

#include "curnm/evaluation/task_features.h"
#include "curnm/miners/miner.h"
#include "curnm/nn/optimizer.h"
#include "curnm/prediction/link_model.h"
#include "curnm/training/run_spec.h"

namespace curnm {

/// Everything that learns together.
struct Learner : LinkModel {
  std::shared_ptr<NegativeMiner> miner;
  std::unique_ptr<Optimizer> optimizer;
  FeatureScales scales;  // of the features that the model was made with
};

/// Everything that the optimiser changes: the parameters of the model, the decoder, the miner.
std::vector<Tensor> parameters_of(const Learner& learner);

/// Outputs that the decoder of a miner needs.
inline std::int64_t num_outputs(const NegativeMiner& miner) {
  return miner.outputs() == Outputs::kSingle ? 1 : std::ssize(kQuestions);
}

/// The device of that name. Throws OptionError if it does not exist.
Device find_device(const std::string& name);

/// The first and last time of the training that set the scale of times: its own, or that of the
/// model that a warm start begins from.
struct TrainingTimes {
  Timestamp first = 0;
  Timestamp last = 0;
};
TrainingTimes training_times(const RunSpec& spec, const LinkTask& task);
/// The seed of random inputs: a warm start goes on with those that its weights belong to.
std::uint64_t input_seed(const RunSpec& spec);

/// The learner of a run, ready for its first step. REQUIRES: `complete` has been called on the
/// spec; the task outlives the learner. Throws UsageError for options that are impossible on this
/// network or miner; UnusableRun for a warm start on a network that does not begin with that of the
/// model.
Learner make_learner(const RunSpec& spec, const LinkTask& task);

}  // namespace curnm
