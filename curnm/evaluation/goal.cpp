#include "curnm/evaluation/goal.h"

#include <algorithm>

#include "curnm/base/error.h"

namespace curnm {
namespace {

/// REQUIRES: not kGoal.
Protocol protocol_of(SelectOn select_on) {
  return static_cast<Protocol>(static_cast<int>(select_on) - 1);
}

}  // namespace

Protocol protocol_of(Question question) {
  switch (question) {
    case Question::kDestination:
      return Protocol::kRandom;
    case Question::kPartner:
      return Protocol::kSourceHistorical;
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
  if (select_on != SelectOn::kGoal && std::ranges::find(all, protocol_of(select_on)) == all.end()) {
    all.push_back(protocol_of(select_on));
  }
  return all;
}

Protocol headline(Goal goal, SelectOn select_on) {
  if (select_on != SelectOn::kGoal) return protocol_of(select_on);
  return goal == Goal::kAll ? Protocol::kTrans : protocol_of(questions_of(goal).front());
}

double metric_of(const std::map<std::string, double>& ap, Goal goal, SelectOn select_on) {
  const auto of = [&](Protocol protocol) { return ap.at(std::string(name_of(protocol))); };
  if (select_on != SelectOn::kGoal) return of(protocol_of(select_on));
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
