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

LogitsAtMeans Decoder::at_means(const Links& links, const Tensor& z, const Links& typical,
                                const Tensor& typical_z) const {
  const auto rows = [](const Tensor& of, std::span<const std::int64_t> roots) {
    return of.index_select(0, to_tensor(roots, of.device()));
  };
  const std::int64_t n = links.size();
  const auto each = [](const Tensor& mean, std::int64_t count) {
    return mean.unsqueeze(0).expand({count, mean.size(0)});
  };
  const Tensor sources = rows(z, links.sources());
  const Tensor destinations = rows(z, links.destination());
  const Tensor source =
      each(rows(rows(typical_z, typical.sources()), typical.source()).mean(0), sources.size(0));
  const Tensor destination = each(rows(typical_z, typical.destination()).mean(0), n);
  // Each link twice: its destination as it is, and at its mean.
  const Links twice = links.with_own_destinations(n);
  const Tensor with_source = logits(twice, at::cat({destinations, destination, sources}));
  const Tensor without_source = logits(twice, at::cat({destinations, destination, source}));
  return {.parts = {without_source.narrow(0, 0, n), with_source.narrow(0, n, n)},
          .all = without_source.narrow(0, n, n)};
}

}  // namespace curnm
