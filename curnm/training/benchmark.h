#pragma once

#include <array>

#include "curnm/training/run_spec.h"

// Speed of a training on this machine.

namespace curnm {

/// The rate of single-precision matrix products on this machine, in 1e9 operations per second: the
/// best of several measurements.
double gemm_gflops();

/// The parts of a step without the validation that follows an epoch.
inline constexpr std::size_t kStepStages = static_cast<std::size_t>(Stage::kValidate);

struct StepTimes {
  std::int64_t steps = 0;  // measured
  double ms = 0;           // per step
  std::array<double, kStepStages> stages{};
  double gflop = 0;  // matrix products per step
};
/// Measures steps in the second half of the training events: warms up, measures some, then counts
/// the operations of a few more. `steps`: 0 for as many as possible, up to 50. Throws Error if an
/// epoch has too few.
StepTimes measure_steps(const LinkTask& task, const RunSpec& spec, std::int64_t steps);

}  // namespace curnm
