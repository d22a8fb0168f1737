#include "curnm/prediction/link_scorer.h"

#include <cmath>

#include "curnm/base/error.h"

namespace curnm {

Tensor embed_roots(const LinkModel& model, const Roots& roots, Timestamp now, std::uint64_t seed) {
  const NoGradGuard no_grad;
  const Rng key(seed, Stream::kEvaluationNeighbors);
  const auto sample = model.model->sample(roots, now, key);
  return model.model->embed(roots, sample.get(), key);
}

Scores score_links(const LinkModel& model, const Links& links, const Tensor& z) {
  const NoGradGuard no_grad;
  const Tensor logits = model.decoder->logits(links, z).to(at::kCPU).contiguous();
  const float* values = logits.data_ptr<float>();
  Scores scores{.outputs = model.decoder->outputs(), .values = {values, values + logits.numel()}};
  for (std::size_t i = 0; i < scores.values.size(); ++i) {
    if (std::isfinite(scores.values[i])) continue;
    fail(
        "the score of a link at time {} is {}: the training has diverged (a smaller "
        "--learning-rate usually helps), features are too large, or the time is far outside of the "
        "data",
        links.time()[i / index(scores.outputs)], scores.values[i]);
  }
  return scores;
}

Scores score_links(const LinkModel& model, const Pairs& pairs, Timestamp now, std::uint64_t seed) {
  const Links links(pairs);
  return score_links(model, links, embed_roots(model, links.roots(), now, seed));
}

}  // namespace curnm
