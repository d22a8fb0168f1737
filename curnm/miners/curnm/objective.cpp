#include "curnm/miners/curnm/objective.h"

#include "curnm/nn/fused.h"

namespace curnm {

Tensor closeness(const FactorLogits& logits, double beta, FactorScores scores) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return scores == FactorScores::kLogits ? (a - b).abs() : (sigmoid_of(a) - sigmoid_of(b)).abs();
  };
  return -beta * distance(logits.positive_relevant, logits.negative_relevant) -
         (2 - beta) * distance(logits.positive_irrelevant, logits.negative_irrelevant);
}

Tensor contrastive_loss(const FactorLogits& logits, Contrast kind, Path path) {
  return contrastive_loss(logits, kind, static_cast<double>(logits.negative_relevant.numel()),
                          path);
}

Tensor contrastive_loss(const FactorLogits& logits, Contrast kind, double count, Path path) {
  const bool raw = kind == Contrast::kRaw;
  const auto score = [&](const Tensor& x) { return raw ? sigmoid_of(x) : x; };
  const Tensor positive_r = score(logits.positive_relevant);
  const Tensor positive_ir = score(logits.positive_irrelevant);
  const Tensor negative_r = score(logits.negative_relevant);
  const Tensor negative_ir = score(logits.negative_irrelevant);
  const auto loss = [&](const Tensor& difference) {
    return raw ? -difference : softplus_of(-difference) / 4;
  };
  return share_of_mean(loss(positive_r - positive_ir) + loss(positive_r - negative_r) +
                           loss(negative_ir - negative_r) + loss(negative_ir - positive_ir),
                       count, path);
}

Tensor total_loss(const LossParts& parts, double delta, double lambda) {
  return parts.positive + delta * parts.random + (1 - delta) * parts.selected +
         lambda * parts.contrastive;
}

}  // namespace curnm
