#pragma once

#include "curnm/curriculum/options.h"
#include "curnm/nn/path.h"
#include "curnm/nn/tensor.h"

// CurNM's equations about scores, numbered as in the paper.

namespace curnm {

/// Logits of the factors of positives and candidates, each candidate beside its own positive's.
struct FactorLogits {
  Tensor positive_relevant;    // [n]
  Tensor positive_irrelevant;  // [n]
  Tensor negative_relevant;    // [n]
  Tensor negative_irrelevant;  // [n]
};

/// Eq. (12): -beta |s_{r,r}| - (2 - beta) |s_{ir,ir}|, the closeness of candidates to their
/// positives, by differences of logits or, as printed, of probabilities. [n]
Tensor closeness(const FactorLogits& logits, double beta,
                 FactorScores scores = FactorScores::kLogits);

/// Eq. (13), averaged over the candidates. kLogSigmoid: each of the four differences d as
/// -log sigmoid(d) / 4 of logits, as in DENS; kRaw: as printed, of probabilities.
Tensor contrastive_loss(const FactorLogits& logits, Contrast kind, Path path = Path::kFast);
/// The share of these candidates in the average over `count`.
Tensor contrastive_loss(const FactorLogits& logits, Contrast kind, double count, Path path);

/// Eq. (14): L_pos + delta L_rand + (1 - delta) L_sel + lambda L_con. The term mu |Theta|^2 is
/// weight decay, which the optimiser applies.
struct LossParts {
  Tensor positive;
  Tensor random;
  Tensor selected;
  Tensor contrastive;
};
Tensor total_loss(const LossParts& parts, double delta, double lambda);

}  // namespace curnm
