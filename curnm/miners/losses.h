#pragma once

#include "curnm/miners/miner.h"
#include "curnm/nn/fused.h"

namespace curnm {

/// -log sigmoid(x), as softplus(-x): stable for any logit.
inline Tensor positive_bce(const Tensor& logits) { return softplus_of(-logits); }

/// -log(1 - sigmoid(x)).
inline Tensor negative_bce(const Tensor& logits) { return softplus_of(logits); }

/// The values of a range of links.
inline Tensor of_links(const Tensor& values, const LinkRange& range) {
  return values.narrow(0, range.begin, range.size);
}

/// Mean BCE of the positives plus that of all candidates and extra pairs. `weights` [B], where
/// defined, weigh each positive and its candidates; they should add up to 1. REQUIRES: no extra
/// pairs where there are weights.
Mined learn_from_all(const Embedded& embedded, const Decoder& decoder, const Tensor& weights = {});

}  // namespace curnm
