#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "curnm/experiments/tables.h"

// Figures of results in HTML: charts with a caption that explains them.

namespace curnm {

/// The same training by several methods: all of one network and model.
struct Method {
  std::string name;
  Runs runs;
};
/// Validation AP by epoch; below it the curriculum and the pools of the methods that have one.
/// Empty if no run has completed an epoch.
std::string learning_figure(std::string_view subject, const std::vector<Method>& methods);

/// What one run learned from: loss parts, selected negatives, scores of candidates.
std::string mining_figure(const RunResult& run);

/// Validation AP of each question and, with a curriculum by question, their shares of the negatives
/// and their difficulties. Empty where runs record none of these.
std::string question_figure(std::string_view subject, const Runs& runs);
/// Does any of the runs have a curriculum by question?
bool has_question_curriculum(const Runs& runs);

std::string variant_figure(const VariantTable::Group& group, const VariantTable& table);

}  // namespace curnm
