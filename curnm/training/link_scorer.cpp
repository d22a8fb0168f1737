#include "curnm/training/link_scorer.h"

#include <cmath>

#include "curnm/base/error.h"
#include "curnm/nn/tensors.h"

namespace curnm {

LinkScorer::LinkScorer(Model& model, EdgeDecoder& decoder, std::uint64_t seed)
    : model_(model), decoder_(decoder), seed_(seed) {}

std::vector<float> LinkScorer::score(const Pairs& pairs, Timestamp now) {
  const EvalScope scope(model_);
  std::vector<NodeId> nodes(pairs.src.begin(), pairs.src.end());
  nodes.insert(nodes.end(), pairs.dst.begin(), pairs.dst.end());
  std::vector<Timestamp> times(pairs.time.begin(), pairs.time.end());
  times.insert(times.end(), pairs.time.begin(), pairs.time.end());
  const Rng key(seed_, Stream::kEvaluationNeighbors);
  const torch::Tensor z = model_.embed({nodes, times}, now, key);
  const torch::Tensor logits =
      decoder_.forward(z.narrow(0, 0, pairs.size()), z.narrow(0, pairs.size(), pairs.size()))
          .to(torch::kCPU)
          .contiguous();
  const float* values = logits.data_ptr<float>();
  const std::vector<float> scores(values, values + pairs.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isfinite(scores[i])) continue;
    fail(
        "the score of a link at time {} is {}: the training has diverged (a smaller "
        "--learning-rate usually helps), features are too large, or the time is far outside of the "
        "data",
        pairs.time[i], scores[i]);
  }
  return scores;
}

}  // namespace curnm
