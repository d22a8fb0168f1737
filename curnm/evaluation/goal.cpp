#include "curnm/evaluation/goal.h"

#include <algorithm>

#include "curnm/base/error.h"

namespace curnm {
namespace {

/// The protocol that was asked for by name, if one was.
std::optional<Protocol> protocol_of(SelectOn select_on) {
  if (select_on == SelectOn::kGoal || select_on == SelectOn::kMrr) return std::nullopt;
  return static_cast<Protocol>(static_cast<int>(select_on) - 1);
}

}  // namespace

Protocol protocol_of(Question question) {
  switch (question) {
    case Question::kDestination:
      return Protocol::kRandom;
    case Question::kPartner:
      return Protocol::kSourceHistorical;
    case Question::kNewPair:
      return Protocol::kInductive;
    case Question::kPair:
      break;
  }
  return Protocol::kTrans;
}

std::vector<Question> questions_of(Goal goal) {
  if (goal == Goal::kAll) return {kQuestions.begin(), kQuestions.end()};
  return {static_cast<Question>(static_cast<int>(goal) - 1)};
}

std::vector<Protocol> protocols_of(Goal goal, SelectOn select_on) {
  std::vector<Protocol> all;
  for (const Question question : questions_of(goal)) all.push_back(protocol_of(question));
  const std::optional<Protocol> named = protocol_of(select_on);
  if (named && std::ranges::find(all, *named) == all.end()) all.push_back(*named);
  return all;
}

Protocol headline(Goal goal, SelectOn select_on) {
  CURNM_ASSERT(select_on != SelectOn::kMrr);
  if (const std::optional<Protocol> named = protocol_of(select_on)) return *named;
  return goal == Goal::kAll ? Protocol::kTrans : protocol_of(questions_of(goal).front());
}

double ap_of(const std::map<std::string, double>& ap, Goal goal, SelectOn select_on) {
  const auto of = [&](Protocol protocol) { return ap.at(std::string(name_of(protocol))); };
  if (const std::optional<Protocol> named = protocol_of(select_on)) return of(*named);
  double sum = 0;
  double count = 0;
  for (const Question question : questions_of(goal)) {
    if (!ap.contains(std::string(name_of(protocol_of(question))))) continue;
    sum += of(protocol_of(question));
    ++count;
  }
  CURNM_ASSERT(count > 0);
  return sum / count;
}

}  // namespace curnm
