#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "curnm/evaluation/goal.h"
#include "curnm/evaluation/task.h"

// What a network allows to measure. A question that has no wrong answers among the evaluated events
// (which former partner, where no source has one) is left out: random negatives would stand in for
// all of its own, and their AP be taken for that of the question.

namespace curnm {

/// Those of `asked` that the set can measure.
std::vector<Protocol> measured(const EvaluationSet& set, std::span<const Protocol> asked);

/// Throws OptionError if validation can measure no question of the goal, or not the protocol that
/// the best epoch is to be chosen by; it names what can be measured instead.
void check_goal(const EvaluationSet& validation, Goal goal, SelectOn select_on);

/// Throws OptionError if the test cannot measure the protocol, which `--protocol` asked for.
void check_protocol(const EvaluationSet& test, Protocol protocol);

/// What is not measured, and where negatives mostly are stand-ins: a sentence each, or nothing.
/// About the tests alone if `validation` is false.
std::vector<std::string> notes_on_negatives(const LinkTask& task, std::span<const Protocol> asked,
                                            bool validation);

/// {"not_measured": {"validation": ["source_historical"], "test": [], "test_new": []},
/// "genuine_negatives": {"validation": {"random": 24, ...}, "test": {...}, "test_new": null}}: what
/// results say about it.
nlohmann::ordered_json facts_on_negatives(const LinkTask& task);

}  // namespace curnm
