#pragma once

#include "curnm/evaluation/scorer.h"
#include "curnm/models/model.h"
#include "curnm/nn/edge_decoder.h"

namespace curnm {

/// Evaluation mode without gradients, for a while.
class EvalScope {
 public:
  explicit EvalScope(torch::nn::Module& module)
      : module_(module), was_training_(module.is_training()) {
    module_.eval();
  }
  ~EvalScope() { module_.train(was_training_); }
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  torch::nn::Module& module_;
  bool was_training_;
  torch::NoGradGuard no_grad_;
};

/// A model and its decoder as a scorer. Neighbours that are drawn at random depend on the seed and
/// the question, so that a replay can be repeated, and not on what else is asked.
class LinkScorer final : public Scorer {
 public:
  /// REQUIRES: both outlive this object.
  LinkScorer(Model& model, EdgeDecoder& decoder, std::uint64_t seed);

  /// Throws Error where a score is no number.
  std::vector<float> score(const Pairs& pairs, Timestamp now) override;
  void observe(const EventBatch& batch) override { model_.observe(batch); }

 private:
  Model& model_;
  EdgeDecoder& decoder_;
  std::uint64_t seed_;
};

}  // namespace curnm
