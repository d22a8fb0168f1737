#include "curnm/curriculum/options.h"

namespace curnm {

CurnmOptions resolved(CurnmOptions options, std::int64_t epochs) {
  check_ranges(options);
  if (options.pool % 2 != 0) {
    throw UsageError(fmt::format(
        "--pool {}: M must be even, since half of a late pool are hard negatives", options.pool));
  }
  if (options.delta_min > options.delta_max) {
    throw UsageError(fmt::format("--delta-min {} is above --delta-max {}", options.delta_min,
                                 options.delta_max));
  }
  if (options.ablate == "pi") options.pi_strategy = "constant";
  if (options.pi == 0) options.pi = options.pi_strategy == "constant" ? 0.5 : 1;
  if (options.pi_strategy == "constant") {
    options.pi_min = std::min(options.pi_min, options.pi);
  } else if (options.pi < options.pi_min) {
    throw UsageError(fmt::format("--pi {} is below --pi-min {}", options.pi, options.pi_min));
  }
  if (options.alpha_epochs == 0) options.alpha_epochs = epochs;
  if (options.beta_epochs == 0) options.beta_epochs = std::max<std::int64_t>(1, epochs / 10);
  return options;
}

}  // namespace curnm
