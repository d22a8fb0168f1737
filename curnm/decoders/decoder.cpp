#include "curnm/decoders/decoder.h"

#include "curnm/nn/fused.h"
#include "curnm/nn/tensors.h"

namespace curnm {

SplitLogits Decoder::split(const Links& links, const Tensor& z, const Tensor& parts) const {
  const std::int64_t n = parts.size(0);
  const Tensor destinations = to_tensor(links.destination().first(index(n)), z.device());
  const Tensor rests = z.index_select(0, destinations) - parts;
  const Tensor sources = z.index_select(0, to_tensor(links.sources(), z.device()));
  const Tensor logits_of_both =
      logits(links.with_own_destinations(n), at::cat({parts, rests, sources}));
  return {.whole = logits(links, z),
          .part = logits_of_both.narrow(0, 0, n),
          .rest = logits_of_both.narrow(0, n, n)};
}

}  // namespace curnm
