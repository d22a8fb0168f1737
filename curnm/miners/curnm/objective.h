#pragma once

#include <torch/torch.h>

#include <string_view>
#include <vector>

#include "curnm/nn/path.h"

// CurNM's equations about scores, numbered as in the paper.

namespace curnm {

/// Logits of the factors of positives and candidates, each candidate beside its own positive's.
struct FactorLogits {
  torch::Tensor positive_relevant;    // [n]
  torch::Tensor positive_irrelevant;  // [n]
  torch::Tensor negative_relevant;    // [n]
  torch::Tensor negative_irrelevant;  // [n]
};

/// Eq. (12): -beta |s_{r,r}| - (2 - beta) |s_{ir,ir}|, the closeness of candidates to their
/// positives. [n]
torch::Tensor closeness(const FactorLogits& logits, double beta);

/// Eq. (13), averaged over the candidates. "logsigmoid": each of the four differences d as
/// -log sigmoid(d) / 4 of logits, as in DENS; "raw": as printed, of probabilities.
torch::Tensor contrastive_loss(const FactorLogits& logits, std::string_view kind,
                               Path path = Path::kFast);

/// The sum of all squared parameters. Its gradient is not for the graph: Adam::step adds it.
torch::Tensor squared_norm(const std::vector<torch::Tensor>& parameters, Path path = Path::kFast);

/// Eq. (14): L_pos + delta L_rand + (1 - delta) L_sel + lambda L_con + mu |Theta|^2.
struct LossParts {
  torch::Tensor positive;
  torch::Tensor random;
  torch::Tensor selected;
  torch::Tensor contrastive;
  torch::Tensor squared_norm;
};
torch::Tensor total_loss(const LossParts& parts, double delta, double lambda, double mu);

}  // namespace curnm
