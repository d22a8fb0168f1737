#pragma once

#include <string>
#include <vector>

#include "curnm/experiments/tables.h"
#include "curnm/report/sheets.h"

// What a report says first: its title, and what the results answer. Text is not escaped yet.

namespace curnm {

/// What the results are of: the title of the only experiment, or "uci: 4 models × 3 miners, 3
/// seeds".
std::string default_title(const ResultSet& results);
/// The same of the runs of one experiment: "uci: tgn with curnm, 5 variants, 3 seeds".
std::string scope_text(const ExperimentRuns& experiment);

/// An answer in a sentence.
struct Finding {
  std::string about;  // "AP, trans"
  std::string text;   // "curnm is best with 0.865, significantly ahead of ens (0.849, p = 0.012)."
};
/// Who is best by each score on all test events, whether significantly, and whether above the best
/// rule; and that nothing can be called significant, if every training has one seed.
std::vector<Finding> findings_of(const ExperimentRuns& experiment);
/// Where the run is above the best rules and where not, on all test events and those of new nodes.
std::vector<Finding> findings_of(const RunResult& run);

/// What the findings mean by the best rule; empty where no run has any.
std::string rule_note(const ResultSet& results);

/// The figures behind the findings, for all sets of events.
Sheet verdict_sheet(const ExperimentRuns& experiment);

}  // namespace curnm
