#pragma once

#include <nlohmann/json.hpp>

#include "curnm/evaluation/task.h"
#include "curnm/training/run_spec.h"

namespace curnm::cli {

/// Prints a result.json as a table: protocols as rows; all events, new nodes and the best rule
/// without learning as columns.
void print_results(const nlohmann::ordered_json& result);

/// Says so where the test has too few events for its figures to mean much.
void say_if_few(const LinkTask& task);

/// How a run stands against the best rule on each question of its goal, and what to try where it is
/// not above, in a sentence or two. REQUIRES: a result with all protocols that the test measures,
/// and their best rules.
std::string standing(const nlohmann::ordered_json& result, const RunSpec& spec);

}  // namespace curnm::cli
