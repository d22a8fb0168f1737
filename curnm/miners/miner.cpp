#include "curnm/miners/miner.h"

namespace curnm {

Mined NegativeMiner::mine(const EventBatch&, const Candidates&, const Embedded& z,
                          EdgeDecoder& decoder) {
  const torch::Tensor positive = decoder.forward(z.src(), z.dst());
  const torch::Tensor negative = decoder.forward(z.candidate_sources(), z.candidates());
  // -log sigmoid(x) = softplus(-x): stable for any logit.
  const torch::Tensor positive_loss = torch::softplus(-positive).mean();
  const torch::Tensor negative_loss = torch::softplus(negative).mean();
  return {.loss = positive_loss + negative_loss,
          .parts = {{"positive", positive_loss.item<double>()},
                    {"negative", negative_loss.item<double>()}}};
}

}  // namespace curnm
