#pragma once

#include "curnm/base/options.h"
#include "curnm/sampling/random_pairs.h"

namespace curnm {

/// The part to leave out in an ablation.
enum class Ablation { kNone, kPi, kRandom, kCache, kDisentangle, kTemporal };
constexpr ChoiceNames<6> choice_names(Ablation) {
  return {"none", "pi", "random", "cache", "disentangle", "temporal"};
}
/// The course of a quantity over the epochs.
enum class Trend { kIncreasing, kDecreasing, kConstant };
constexpr ChoiceNames<3> choice_names(Trend) { return {"increasing", "decreasing", "constant"}; }
/// What moves pi.
enum class PiStrategy { kAdaptive, kLinear, kConstant };
constexpr ChoiceNames<3> choice_names(PiStrategy) { return {"adaptive", "linear", "constant"}; }
/// How pi changes in an epoch without progress.
enum class Plateau { kRaise, kHold };
constexpr ChoiceNames<2> choice_names(Plateau) { return {"raise", "hold"}; }
/// What candidates compete with: those of the whole batch, or those of the same positive.
enum class Selection { kBatch, kRow };
constexpr ChoiceNames<2> choice_names(Selection) { return {"batch", "row"}; }
/// How scores of factors are compared.
enum class FactorScores { kLogits, kProbabilities };
constexpr ChoiceNames<2> choice_names(FactorScores) { return {"logits", "probabilities"}; }
/// The form of the contrastive loss.
enum class Contrast { kLogSigmoid, kRaw };
constexpr ChoiceNames<2> choice_names(Contrast) { return {"logsigmoid", "raw"}; }
/// What the contrastive loss trains.
enum class ContrastGradient { kAll, kGates };
constexpr ChoiceNames<2> choice_names(ContrastGradient) { return {"all", "gates"}; }
/// The metric that progress is measured by.
enum class CurriculumMetric { kValidation, kTraining };
constexpr ChoiceNames<2> choice_names(CurriculumMetric) { return {"validation", "training"}; }

/// CurNM's hyper-parameters under the paper's symbols, and every place where the paper can be read
/// in more than one way.
struct CurnmOptions {
  Outputs outputs = Outputs::kSingle;
  // With an output for each question
  double budget = 2.5;
  // The pool
  std::int64_t pool = 8;
  double gamma_hist = 0.6;
  double tau = 0.5;
  double alpha_max = 0.006;
  std::int64_t alpha_epochs = 0;
  Trend alpha_schedule = Trend::kIncreasing;
  // How much of it is selected
  PiStrategy pi_strategy = PiStrategy::kAdaptive;
  double pi = 0;
  double pi_min = 0.1;
  double shrink = 0.05;
  Plateau plateau = Plateau::kHold;
  CurriculumMetric curriculum_metric = CurriculumMetric::kValidation;
  // What is selected
  Selection select = Selection::kBatch;
  FactorScores closeness = FactorScores::kLogits;
  std::int64_t beta_epochs = 0;
  Trend beta_schedule = Trend::kIncreasing;
  std::int64_t time2vec_width = 32;
  // What is learned from it
  Corruption corrupt = Corruption::kHalf;
  double delta_min = 0.7;
  double delta_max = 1;
  Trend delta_schedule = Trend::kDecreasing;
  double lambda = 0.3;
  Contrast contrast = Contrast::kLogSigmoid;
  ContrastGradient contrast_gradient = ContrastGradient::kAll;
  Ablation ablate = Ablation::kNone;

  void fields(const FieldVisitor& visit);
  /// Throws OptionError for values that conflict.
  void check() const;
  /// Fills in what was left open, for a training of E_0 epochs.
  void complete(const RunFacts& facts);
};

}  // namespace curnm
