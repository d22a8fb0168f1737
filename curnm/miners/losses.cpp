#include "curnm/miners/losses.h"

namespace curnm {

Mined learn_from_all(const Candidates& candidates, const Embedded& z, const EdgeDecoder& decoder,
                     const torch::Tensor& weights) {
  const LinkFunction link = decoder.function();
  const torch::Tensor sources = link.source(z.rows(z.src));
  const torch::Tensor destinations = link.destination(z.z);
  const torch::Tensor rows = torch::arange(sources.size(0), z.src.options());
  const torch::Tensor logits =
      link.logits(sources, torch::cat({rows, rows.repeat_interleave(candidates.width)}),
                  destinations, torch::cat({z.dst, z.candidates}));
  const torch::Tensor positive = logits.narrow(0, 0, rows.numel());
  const torch::Tensor negative = logits.narrow(0, rows.numel(), z.candidates.numel());
  const auto average = [&](const torch::Tensor& of_positives) {
    return weights.defined() ? (weights * of_positives).sum() : of_positives.mean();
  };
  const torch::Tensor positive_loss = average(positive_bce(positive));
  const torch::Tensor negative_loss =
      average(negative_bce(negative).view({-1, candidates.width}).mean(1));
  return {.loss = positive_loss + negative_loss,
          .losses = {{"positive", positive_loss.item<double>()},
                     {"negative", negative_loss.item<double>()}},
          .positive_logits = positive.detach(),
          .candidate_logits = negative.detach()};
}

}  // namespace curnm
