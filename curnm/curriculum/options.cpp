#include "curnm/curriculum/options.h"

#include <algorithm>

#include "curnm/base/error.h"

namespace curnm {
namespace {

/// The first reason that applies.
struct Reason {
  bool holds;
  std::string_view text;
};
std::string_view first_of(std::initializer_list<Reason> reasons) {
  for (const Reason& reason : reasons) {
    if (reason.holds) return reason.text;
  }
  return {};
}

constexpr std::string_view kNoPi = "--ablate pi, which holds pi constant";
constexpr std::string_view kNoRandom = "--ablate random, without random negatives";
constexpr std::string_view kNoCache = "--ablate cache, without hard negatives";
constexpr std::string_view kNoFactors = "--ablate disentangle, without factors";
constexpr std::string_view kConstantPi = "--pi-strategy constant";

}  // namespace

void CurnmOptions::fields(const FieldVisitor& visit) {
  const bool no_cache = ablate == Ablation::kCache;
  const bool no_factors = ablate == Ablation::kDisentangle;
  const bool no_random = ablate == Ablation::kRandom;
  const bool constant_pi = pi_strategy == PiStrategy::kConstant;
  const bool linear_pi = pi_strategy == PiStrategy::kLinear;
  const std::string_view pi_is_fixed =
      first_of({{ablate == Ablation::kPi, kNoPi}, {constant_pi, kConstantPi}});
  const std::string_view progress_has_no_say =
      pi_is_fixed.empty() && linear_pi ? "--pi-strategy linear" : pi_is_fixed;
  const std::string_view no_contrast =
      first_of({{no_factors, kNoFactors}, {lambda == 0, "--lambda 0"}});

  const bool by_question = outputs == Outputs::kByQuestion;
  visit(kOutputsField, outputs);
  visit({.name = "budget",
         .help = "negatives per positive, on average",
         .min = 0.1,
         .max = 1000,
         .idle = by_question ? "" : "--outputs single"},
        budget);
  // What belongs to the paper's one score.
  const auto visit_paper = [&](Field field, OptionValue value) {
    if (by_question) field.idle = "--outputs questions";
    visit(field, value);
  };

  visit_paper({.name = "pool",
               .help = "candidates per positive, even",
               .min = 2,
               .max = 1000,
               .symbol = "M"},
              pool);
  visit_paper({.name = "gamma-hist",
               .help = "share of historical neighbours among the fresh candidates",
               .min = 0,
               .max = 1,
               .symbol = "gamma_hist"},
              gamma_hist);
  visit_paper({.name = "tau",
               .help = "pi at which hard negatives begin to be kept",
               .min = 0,
               .max = 1,
               .symbol = "tau",
               .idle = first_of({{no_cache, kNoCache}})},
              tau);
  visit_paper({.name = "alpha-max",
               .help = "weight of a score's deviation against it being kept",
               .min = 0,
               .max = 1000,
               .symbol = "alpha_max",
               .idle = first_of({{no_cache, kNoCache}})},
              alpha_max);
  visit_paper(
      {.name = "alpha-epochs",
       .help = "epochs until alpha is full (0: all)",
       .min = 0,
       .max = 1e6,
       .symbol = "E'",
       .idle = first_of({{no_cache, kNoCache},
                         {alpha_max == 0, "--alpha-max 0"},
                         {alpha_schedule == Trend::kConstant, "--alpha-schedule constant"}})},
      alpha_epochs);
  visit_paper({.name = "alpha-schedule",
               .help = "course of alpha",
               .idle = first_of({{no_cache, kNoCache}, {alpha_max == 0, "--alpha-max 0"}})},
              alpha_schedule);
  visit({.name = "pi-strategy",
         .help = "share that is selected: adaptive (by progress), linear or constant",
         .idle = first_of({{ablate == Ablation::kPi, kNoPi}})},
        pi_strategy);
  visit({.name = "pi",
         .help = "where pi starts (0: at 1, or 0.5 where it is constant)",
         .min = 0,
         .max = 1,
         .symbol = "pi"},
        pi);
  visit({.name = "pi-min",
         .help = "least pi",
         .min = 0.001,
         .max = 1,
         .symbol = "min pi",
         .idle = pi_is_fixed},
        pi_min);
  visit({.name = "shrink",
         .help = "step of pi",
         .min = 0,
         .max = 1,
         .symbol = "gamma_shrink",
         .idle = pi_is_fixed},
        shrink);
  visit({.name = "plateau",
         .help = "pi without progress: hold, or raise as the equation of the paper has it",
         .idle = progress_has_no_say},
        plateau);
  visit_paper({.name = "curriculum-metric",
               .help = "progress by AP on validation (paper) or by AUC on the training batches",
               .idle = progress_has_no_say},
              curriculum_metric);
  visit_paper({.name = "select", .help = "best of the whole batch (paper) or of each row"}, select);
  visit_paper(
      {.name = "closeness",
       .help = "candidates are ranked by differences of logits, or of probabilities (paper)",
       .idle = first_of({{no_factors, kNoFactors}})},
      closeness);
  visit_paper({.name = "beta-epochs",
               .help = "epochs until both factors count equally (0: a tenth of all)",
               .min = 0,
               .max = 1e6,
               .symbol = "E''",
               .idle = first_of({{no_factors, kNoFactors},
                                 {beta_schedule == Trend::kConstant, "--beta-schedule constant"}})},
              beta_epochs);
  visit_paper({.name = "beta-schedule",
               .help = "course of beta",
               .idle = first_of({{no_factors, kNoFactors}})},
              beta_schedule);
  visit_paper(
      {.name = "time2vec-width",
       .help = "hidden width of Time2Vec",
       .min = 2,
       .max = 4096,
       .idle = first_of({{no_factors, kNoFactors},
                         {ablate == Ablation::kTemporal, "--ablate temporal, without Time2Vec"}})},
      time2vec_width);
  Field corrupted = kCorruptField;
  // They may still be drawn, to measure progress.
  corrupted.idle =
      first_of({{no_random && curriculum_metric == CurriculumMetric::kValidation, kNoRandom}});
  visit_paper(corrupted, corrupt);
  visit_paper({.name = "delta-min",
               .help = "least weight of random negatives",
               .min = 0,
               .max = 1,
               .symbol = "delta_min",
               .idle = first_of({{no_random, kNoRandom}})},
              delta_min);
  visit_paper({.name = "delta-max",
               .help = "largest weight of random negatives",
               .min = 0,
               .max = 1,
               .symbol = "delta_max",
               .idle = first_of({{no_random, kNoRandom}})},
              delta_max);
  visit_paper(
      {.name = "delta-schedule",
       .help = "weight of random negatives: decreasing with pi (paper), increasing as pi falls, "
               "or constant",
       .idle = first_of({{no_random, kNoRandom}})},
      delta_schedule);
  visit_paper({.name = "lambda",
               .help = "weight of the contrastive loss",
               .min = 0,
               .max = 1000,
               .symbol = "lambda",
               .idle = first_of({{no_factors, kNoFactors}})},
              lambda);
  visit_paper({.name = "contrast",
               .help = "contrastive loss of logits (logsigmoid) or of probabilities (raw, paper)",
               .idle = no_contrast},
              contrast);
  visit_paper({.name = "contrast-gradient",
               .help = "the contrastive loss trains all (paper) or the gates alone",
               .idle = no_contrast},
              contrast_gradient);
  visit_paper({.name = "ablate",
               .help = "leave one part out: adaptive pi, random negatives, hard cache, "
                       "disentanglement, temporal factor"},
              ablate);
}

void CurnmOptions::check() const {
  const auto refuse = [](const char* option, const std::string& message) {
    throw OptionError(OptionError::Kind::kConflict, option, message);
  };
  if (outputs == Outputs::kByQuestion && ablate != Ablation::kNone) {
    refuse("ablate", "--ablate is about --outputs single: each question has its own negatives");
  }
  if (pool % 2 != 0) {
    throw OptionError(
        OptionError::Kind::kValue, "pool",
        fmt::format("--pool {}: M must be even, since half of a late pool are hard negatives",
                    pool));
  }
  if (delta_min > delta_max) {
    refuse("delta-min",
           fmt::format("--delta-min {} is above --delta-max {}", delta_min, delta_max));
  }
  const bool constant = pi_strategy == PiStrategy::kConstant || ablate == Ablation::kPi;
  if (!constant && pi != 0 && pi < pi_min) {
    refuse("pi", fmt::format("--pi {} is below --pi-min {}", pi, pi_min));
  }
}

void CurnmOptions::complete(const RunFacts& facts) {
  if (ablate == Ablation::kPi) pi_strategy = PiStrategy::kConstant;
  const bool constant = pi_strategy == PiStrategy::kConstant;
  if (pi == 0) pi = constant ? 0.5 : 1;
  if (constant) pi_min = std::min(pi_min, pi);
  if (alpha_epochs == 0) alpha_epochs = facts.epochs;
  if (beta_epochs == 0) beta_epochs = std::max<std::int64_t>(1, facts.epochs / 10);
}

}  // namespace curnm
