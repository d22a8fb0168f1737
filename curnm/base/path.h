#pragma once

#include "curnm/base/options.h"

namespace curnm {

/// How a step is computed: the same result but for rounding.
enum class Path {
  kFast,   // fused kernels where there are some, on the CPU
  kPlain,  // tensor operations alone, on any device: what the fast path is tested against
};
constexpr ChoiceNames<2> choice_names(Path) { return {"fast", "plain"}; }

}  // namespace curnm
