#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "curnm/experiments/tables.h"

// Tables as text, before any format: HTML, Markdown and LaTeX print the same sheets. Text is not
// escaped yet.

namespace curnm {

/// Better or worse than what the caption names; if several seeds are compared, significantly so.
enum class Mark { kNone, kBelow, kAbove };
Mark mark_of(const Comparison& comparison);

struct SheetCell {
  std::string text;
  std::vector<std::string> asides;  // smaller print: the paper's figure, missing seeds
  double key = kNoValue;            // what a column of numbers is sorted by
  Mark mark = Mark::kNone;
  bool best = false;
  bool below_rule = false;  // the best rule without learning has a higher score
};

struct Sheet {
  std::string title;
  std::string caption;
  std::vector<std::string> header;
  std::size_t text_columns = 1;  // the leading ones; the others are numbers
  /// The column of the method that the table is about, which stays visible on narrow screens as
  /// the first does; 0 if there is none.
  std::size_t own_column = 0;
  std::vector<std::vector<SheetCell>> rows;
  std::vector<std::vector<SheetCell>> footer;
};

/// What follows a score that is below the best rule, in every format.
inline constexpr std::string_view kBelowRule = "†";
std::string below_rule_text();  // " † below the best rule without learning."

std::string set_text(const std::string& set);       // "all test events"
std::string nodes_text(const std::string& set);     // "all nodes"
std::string question_text(const Measure& measure);  // "AP, trans", "MRR"
std::string measure_text(const Measure& measure);   // "AP against trans negatives, all test …"
Sheet score_sheet(const ScoreTable& table);
Sheet significance_sheet(const ScoreTable& table);
Sheet best_of_sheet(const ScoreTable& table);
Sheet runtime_sheet(const RuntimeTable& table);
Sheet variant_sheet(const VariantTable& table);
Sheet unfinished_sheet(const ExperimentRuns& experiment);
Sheet options_sheet(const Runs& runs);
Sheet environment_sheet(const Runs& runs);
Sheet run_sheet(const RunResult& run);
Sheet run_scores_sheet(const RunResult& run);

/// All sheets that have rows, in the order of a report without charts.
std::vector<Sheet> sheets_of(const ExperimentRuns& experiment);
std::vector<Sheet> sheets_of(const RunResult& run);

}  // namespace curnm
