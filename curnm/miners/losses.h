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

/// Of logits [n,Q]: those of one output, [n].
inline Tensor of_output(const Tensor& logits, std::int64_t output) {
  return logits.select(1, output);
}
inline SplitLogits of_output(const SplitLogits& logits, std::int64_t output) {
  return {.whole = of_output(logits.whole, output),
          .part = of_output(logits.part, output),
          .rest = of_output(logits.rest, output)};
}

/// Mean BCE of the positives plus that of all candidates and extra pairs. `weights` [B], where
/// defined, weigh each positive and its candidates; those of the whole batch should add up to 1.
/// REQUIRES: no extra pairs where there are weights.
Mined learn_from_all(const Embedded& embedded, const Decoder& decoder, const Tensor& weights = {});

/// The questions that a decoder's outputs learn from, as weights of links: [L,Q]. In the whole
/// batch each column's positives add up to 1 and its negatives, if there are any, to -1. Negatives
/// teach the outputs that `teaches` says; positives teach all that some negative teaches. REQUIRES:
/// the extra pairs of the candidates tell their kinds; there are no other candidates.
Tensor question_weights(const Links& links, const ExtraPairs& negatives, const Decoder& decoder,
                        const BatchParts& parts = whole_batch());

/// BCE of each output: mean over the positives plus mean over the negatives that teach it, of which
/// the hardest share pi[output] counts most (soft_weights); all alike where none is given.
Mined learn_by_question(const Embedded& embedded, const ExtraPairs& negatives,
                        const Decoder& decoder, std::span<const double> pi = {});

}  // namespace curnm
