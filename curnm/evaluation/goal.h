#pragma once

#include <map>
#include <optional>
#include <string>

#include "curnm/evaluation/negatives.h"

namespace curnm {

/// The questions that a user cares about.
enum class Goal { kAll, kDestination, kPartner, kPair, kNewPair };
constexpr ChoiceNames<5> choice_names(Goal) {
  return {"all", "destination", "partner", "pair", "new_pair"};
}

/// What the best epoch is chosen by: AP of the goal or of one protocol, or the MRR of true
/// destinations among drawn ones.
enum class SelectOn { kGoal, kRandom, kHistorical, kInductive, kTrans, kSourceHistorical, kMrr };
constexpr ChoiceNames<7> choice_names(SelectOn) {
  return {"goal", "random", "historical", "inductive", "trans", "source_historical", "mrr"};
}

/// The protocol that measures how well a question is answered in validation.
Protocol protocol_of(Question question);
/// The questions of a goal.
std::vector<Question> questions_of(Goal goal);

/// The protocols that a validation has to score.
std::vector<Protocol> protocols_of(Goal goal, SelectOn select_on);

/// The one protocol to quote of a test that was trained for this: that of the question, TRANS where
/// all count. REQUIRES: not kMrr, which is no protocol.
Protocol headline(Goal goal, SelectOn select_on);

/// A validation: AP by protocol, and what the best epoch is chosen by.
struct Validation {
  double metric = 0;
  std::map<std::string, double> ap;
  std::optional<double> mrr;  // where the best epoch is chosen by it
};
/// The AP of the protocol that was asked for, or the mean of those of the goal's questions that
/// were measured, also where the best epoch is chosen by MRR. REQUIRES: what it takes is there
/// (check_goal).
double ap_of(const std::map<std::string, double>& ap, Goal goal, SelectOn select_on);

}  // namespace curnm
