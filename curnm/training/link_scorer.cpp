#include "curnm/training/link_scorer.h"

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
  const Rng key(seed_, Stream::kEvaluationNeighbors, 0, asked_++);
  const torch::Tensor z = model_.embed({nodes, times}, now, key);
  const torch::Tensor logits =
      decoder_.forward(z.narrow(0, 0, pairs.size()), z.narrow(0, pairs.size(), pairs.size()))
          .to(torch::kCPU)
          .contiguous();
  const float* values = logits.data_ptr<float>();
  return {values, values + pairs.size()};
}

}  // namespace curnm
