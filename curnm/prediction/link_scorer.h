#pragma once

#include "curnm/evaluation/scorer.h"
#include "curnm/prediction/link_model.h"

namespace curnm {

/// Embeddings of the roots, [R,D], and the logits of links from those of their roots: the two
/// halves of what follows.
Tensor embed_roots(const LinkModel& model, const Roots& roots, Timestamp now, std::uint64_t seed);
Scores score_links(const LinkModel& model, const Links& links, const Tensor& z);

/// The logits of pairs from a model and its decoder. Randomly drawn neighbours depend on the seed
/// and the query only, so that a score can be repeated and does not depend on other queries. `now`:
/// as in Model::sample. Throws Error where a score is not a finite number. REQUIRES: evaluation
/// mode.
Scores score_links(const LinkModel& model, const Pairs& pairs, Timestamp now, std::uint64_t seed);

/// The same as a scorer, for evaluations.
class LinkScorer final : public Scorer {
 public:
  /// REQUIRES: the model outlives this object.
  LinkScorer(LinkModel& model, std::uint64_t seed) : model_(model), seed_(seed) {}

  Scores score(const Pairs& pairs, Timestamp now) override {
    const EvalScope model_scope(*model_.model);
    const EvalScope decoder_scope(*model_.decoder);
    return score_links(model_, pairs, now, seed_);
  }
  void observe(const EventBatch& batch) override { model_.observe(batch); }

 private:
  LinkModel& model_;
  std::uint64_t seed_;
};

}  // namespace curnm
