#pragma once

#include <array>
#include <string>
#include <string_view>

#include "curnm/base/options.h"

namespace curnm {

inline constexpr std::array<std::string_view, 6> kAblations = {"none",  "pi",          "random",
                                                               "cache", "disentangle", "temporal"};
inline constexpr std::array<std::string_view, 3> kTrends = {"increasing", "decreasing", "constant"};
inline constexpr std::array<std::string_view, 3> kPiStrategies = {"adaptive", "linear", "constant"};
inline constexpr std::array<std::string_view, 2> kPlateaus = {"raise", "hold"};
inline constexpr std::array<std::string_view, 2> kSelections = {"batch", "row"};
inline constexpr std::array<std::string_view, 2> kContrasts = {"logsigmoid", "raw"};
inline constexpr std::array<std::string_view, 2> kContrastGradients = {"all", "gates"};
inline constexpr std::array<std::string_view, 2> kCurriculumMetrics = {"validation", "training"};

/// CurNM's hyper-parameters under the paper's symbols, and every place where the paper can be read
/// in more than one way.
struct CurnmOptions {
  // The pool
  std::int64_t pool = 8;
  double gamma_hist = 0.6;
  double tau = 0.5;
  double alpha_max = 0.006;
  std::int64_t alpha_epochs = 0;
  std::string alpha_schedule = "increasing";
  // How much of it is selected
  std::string pi_strategy = "adaptive";
  double pi = 0;
  double pi_min = 0.1;
  double shrink = 0.05;
  std::string plateau = "hold";
  std::string curriculum_metric = "validation";
  // What is selected
  std::string select = "batch";
  std::int64_t beta_epochs = 0;
  std::string beta_schedule = "increasing";
  std::int64_t time2vec_width = 32;
  // What is learned from it
  double delta_min = 0.7;
  double delta_max = 1;
  std::string delta_schedule = "decreasing";
  double lambda = 0.3;
  std::string contrast = "logsigmoid";
  std::string contrast_gradient = "all";
  double mu = 1e-13;
  std::string ablate = "none";

  template <class Visitor>
  void fields(Visitor&& visit) {
    visit(Field{.name = "pool",
                .help = "candidates per positive, even",
                .min = 2,
                .max = 1000,
                .symbol = "M"},
          pool);
    visit(Field{.name = "gamma-hist",
                .help = "share of historical neighbours among the fresh candidates",
                .min = 0,
                .max = 1,
                .symbol = "gamma_hist"},
          gamma_hist);
    visit(Field{.name = "tau",
                .help = "pi at which hard negatives begin to be kept",
                .min = 0,
                .max = 1,
                .symbol = "tau"},
          tau);
    visit(Field{.name = "alpha-max",
                .help = "weight of a score's deviation against it being kept",
                .min = 0,
                .max = 1000,
                .symbol = "alpha_max"},
          alpha_max);
    visit(Field{.name = "alpha-epochs",
                .help = "epochs until alpha is full (0: all)",
                .min = 0,
                .max = 1e6,
                .symbol = "E'"},
          alpha_epochs);
    visit(Field{.name = "alpha-schedule", .help = "course of alpha", .choices = kTrends},
          alpha_schedule);
    visit(Field{.name = "pi-strategy",
                .help = "share that is selected: adaptive (by progress), linear or constant",
                .choices = kPiStrategies},
          pi_strategy);
    visit(Field{.name = "pi",
                .help = "where pi starts (0: at 1, or 0.5 where it is constant)",
                .min = 0,
                .max = 1,
                .symbol = "pi"},
          pi);
    visit(Field{.name = "pi-min", .help = "least pi", .min = 0.001, .max = 1, .symbol = "min pi"},
          pi_min);
    visit(
        Field{.name = "shrink", .help = "step of pi", .min = 0, .max = 1, .symbol = "gamma_shrink"},
        shrink);
    visit(Field{.name = "plateau",
                .help = "pi without progress: hold, or raise as the equation of the paper has it",
                .choices = kPlateaus},
          plateau);
    visit(Field{.name = "curriculum-metric",
                .help = "progress by AP on validation (paper) or by AUC on the training batches",
                .choices = kCurriculumMetrics},
          curriculum_metric);
    visit(Field{.name = "select",
                .help = "best of the whole batch (paper) or of each row",
                .choices = kSelections},
          select);
    visit(Field{.name = "beta-epochs",
                .help = "epochs until both factors count equally (0: a tenth of all)",
                .min = 0,
                .max = 1e6,
                .symbol = "E''"},
          beta_epochs);
    visit(Field{.name = "beta-schedule", .help = "course of beta", .choices = kTrends},
          beta_schedule);
    visit(
        Field{.name = "time2vec-width", .help = "hidden width of Time2Vec", .min = 2, .max = 4096},
        time2vec_width);
    visit(Field{.name = "delta-min",
                .help = "least weight of random negatives",
                .min = 0,
                .max = 1,
                .symbol = "delta_min"},
          delta_min);
    visit(Field{.name = "delta-max",
                .help = "largest weight of random negatives",
                .min = 0,
                .max = 1,
                .symbol = "delta_max"},
          delta_max);
    visit(Field{.name = "delta-schedule",
                .help = "weight of random negatives: decreasing with pi (paper), increasing as pi "
                        "falls, or constant",
                .choices = kTrends},
          delta_schedule);
    visit(Field{.name = "lambda",
                .help = "weight of the contrastive loss",
                .min = 0,
                .max = 1000,
                .symbol = "lambda"},
          lambda);
    visit(Field{.name = "contrast",
                .help = "contrastive loss of logits (logsigmoid) or of probabilities (raw)",
                .choices = kContrasts},
          contrast);
    visit(Field{.name = "contrast-gradient",
                .help = "the contrastive loss trains all (paper) or the gates alone",
                .choices = kContrastGradients},
          contrast_gradient);
    visit(Field{.name = "mu", .help = "weight of the L2 term", .min = 0, .max = 1, .symbol = "mu"},
          mu);
    visit(Field{.name = "ablate",
                .help = "leave one part out: adaptive pi, random negatives, hard cache, "
                        "disentanglement, temporal factor",
                .choices = kAblations},
          ablate);
  }
};

/// The options with what was left open filled in for a training of that many epochs, E_0. Throws
/// UsageError for values that are impossible together.
CurnmOptions resolved(CurnmOptions options, std::int64_t epochs);

}  // namespace curnm
