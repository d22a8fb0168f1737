#include "curnm/miners/losses.h"

#include "curnm/nn/fused.h"

namespace curnm {

Mined learn_from_all(const Candidates& candidates, const Embedded& z, const EdgeDecoder& decoder,
                     const torch::Tensor& weights) {
  const LinkFunction link = decoder.function();
  const std::int64_t positives = z.source.numel();
  const torch::Tensor source_of =
      torch::cat({z.source, z.source.repeat_interleave(candidates.width), z.extra_source});
  const torch::Tensor logits =
      link.logits(link.source(z.rows(z.sources)), source_of, link.destination(z.z),
                  torch::cat({z.dst, z.candidates, z.extra_dst}));
  const torch::Tensor positive = logits.narrow(0, 0, positives);
  const torch::Tensor positive_losses = positive_bce(positive);
  const torch::Tensor negative_losses =
      negative_bce(logits.narrow(0, positives, logits.numel() - positives));
  torch::Tensor positive_loss;
  torch::Tensor negative_loss;
  if (weights.defined()) {
    positive_loss = total(weights * positive_losses, z.path);
    negative_loss = total(weights * negative_losses.view({positives, -1}).mean(1), z.path);
  } else {
    positive_loss = mean(positive_losses, z.path);
    negative_loss = mean(negative_losses, z.path);
  }
  return {.loss = positive_loss + negative_loss,
          .losses = {{"positive", positive_loss.item<double>()},
                     {"negative", negative_loss.item<double>()}},
          .positive_logits = positive.detach(),
          .candidate_logits = logits.narrow(0, positives, z.candidates.numel()).detach()};
}

}  // namespace curnm
