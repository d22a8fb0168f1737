#pragma once

#include "curnm/decoders/decoder.h"
#include "curnm/evaluation/scorer.h"
#include "curnm/models/model.h"

namespace curnm {

/// The logits of pairs from a model and its decoder. Randomly drawn neighbours depend on the seed
/// and the query only, so that a score can be repeated and does not depend on other queries. `now`:
/// as in Model::sample. Throws Error where a score is not a finite number. REQUIRES: evaluation
/// mode.
std::vector<float> score_links(const Model& model, const Decoder& decoder, const Pairs& pairs,
                               Timestamp now, std::uint64_t seed);

/// The same as a scorer, for evaluations.
class LinkScorer final : public Scorer {
 public:
  /// REQUIRES: both outlive this object.
  LinkScorer(Model& model, Decoder& decoder, std::uint64_t seed)
      : model_(model), decoder_(decoder), seed_(seed) {}

  std::vector<float> score(const Pairs& pairs, Timestamp now) override {
    const EvalScope model_scope(model_);
    const EvalScope decoder_scope(decoder_);
    return score_links(model_, decoder_, pairs, now, seed_);
  }
  void observe(const EventBatch& batch) override { model_.observe(batch); }

 private:
  Model& model_;
  Decoder& decoder_;
  std::uint64_t seed_;
};

}  // namespace curnm
