#include "curnm/prediction/link_scorer.h"

#include <cmath>

#include "curnm/base/error.h"

namespace curnm {

std::vector<float> score_links(const Model& model, const Decoder& decoder, const Pairs& pairs,
                               Timestamp now, std::uint64_t seed) {
  const NoGradGuard no_grad;
  const Links links(pairs);
  const Rng key(seed, Stream::kEvaluationNeighbors);
  const auto sample = model.sample(links.roots(), now, key);
  const Tensor z = model.embed(links.roots(), sample.get(), key);
  const Tensor logits = decoder.logits(links, z).to(at::kCPU).contiguous();
  const float* values = logits.data_ptr<float>();
  const std::vector<float> scores(values, values + pairs.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isfinite(scores[i])) continue;
    fail(
        "the score of a link at time {} is {}: the training has diverged (a smaller "
        "--learning-rate usually helps), features are too large, or the time is far outside of the "
        "data",
        pairs.time[i], scores[i]);
  }
  return scores;
}

}  // namespace curnm
