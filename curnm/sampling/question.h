#pragma once

#include <array>

#include "curnm/base/options.h"

namespace curnm {

/// What a score is asked for. Each question has its own kind of wrong answers, so a decoder may
/// have an output for each, which learns from those alone.
enum class Question : std::uint8_t {
  kDestination,  // u acts: with which of all destinations?
  kPartner,      // u acts: with which of its former partners?
  kPair,         // someone acts: which pair?
  kNewPair,      // someone acts: which of the pairs that met for the first time lately?
};
constexpr ChoiceNames<4> choice_names(Question) {
  return {"destination", "partner", "pair", "new_pair"};
}
inline constexpr std::array<Question, 4> kQuestions = {Question::kDestination, Question::kPartner,
                                                       Question::kPair, Question::kNewPair};

/// How many scores a link has: one for everything, or one for each Question.
enum class Outputs { kSingle, kByQuestion };
constexpr ChoiceNames<2> choice_names(Outputs) { return {"single", "questions"}; }
inline constexpr Field kOutputsField{
    .name = "outputs",
    .help =
        "one score for everything (single), or one for each of the questions destination, "
        "partner, pair and new_pair"};

}  // namespace curnm
