#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "curnm/experiments/tables.h"

// Figures of results in HTML: one chart each, with the caption that explains it. Subjects ("uci ·
// tgn") are for readers who cannot see a chart. Where all that is drawn is one run, its best epoch
// is marked.

namespace curnm {

/// The same training by several methods, all of one network and model: validation AP by epoch,
/// then the curriculum and the pools of our miner. Empty if no run has completed an epoch.
std::string learning_figures(std::string_view subject, const std::vector<NamedRuns>& methods);

/// What one run learned from: loss parts, selected negatives, scores of candidates.
std::string mining_figures(std::string_view subject, const RunResult& run);

/// Validation AP of each question and, with a curriculum by question, their shares of the negatives
/// and their difficulties. Empty where runs record none of these.
std::string question_figures(std::string_view subject, const Runs& runs);
/// Does any of the runs have a curriculum by question?
bool has_question_curriculum(const Runs& runs);

std::string variant_figure(const VariantTable::Group& group, const VariantTable& table);

}  // namespace curnm
