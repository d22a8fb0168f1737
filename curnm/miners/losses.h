#pragma once

#include "curnm/miners/miner.h"
#include "curnm/nn/fused.h"

namespace curnm {

/// -log sigmoid(x), as softplus(-x): stable for any logit.
inline torch::Tensor positive_bce(const torch::Tensor& logits) { return softplus_of(-logits); }

/// -log(1 - sigmoid(x)).
inline torch::Tensor negative_bce(const torch::Tensor& logits) { return softplus_of(logits); }

/// Mean BCE of the positives plus that of all candidates and extra pairs. `weights` [B], where
/// defined, say how much each positive and its candidates count; they should add up to 1.
/// REQUIRES: no extra pairs where there are weights.
Mined learn_from_all(const Candidates& candidates, const Embedded& z, const EdgeDecoder& decoder,
                     const torch::Tensor& weights = {});

}  // namespace curnm
