#pragma once

#include "curnm/sampling/question.h"

// Options that several miners have.

namespace curnm {

inline constexpr Field kNegativesField{
    .name = "negatives", .help = "negatives per positive", .min = 1, .max = 1000};

}  // namespace curnm
