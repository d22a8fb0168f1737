#pragma once

#include "curnm/base/options.h"

// Options that several miners have.

namespace curnm {

inline constexpr Field kNegativesField{
    .name = "negatives", .help = "negatives per positive", .min = 1, .max = 1000};

/// How many scores a link has: one for everything, or one for each Question.
enum class Outputs { kSingle, kByQuestion };
constexpr ChoiceNames<2> choice_names(Outputs) { return {"single", "questions"}; }
inline constexpr Field kOutputsField{
    .name = "outputs",
    .help =
        "one score for everything (single), or one for each of the questions destination, "
        "partner and pair"};

}  // namespace curnm
