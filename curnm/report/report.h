#pragma once

#include <string>

#include "curnm/experiments/result_set.h"

// Stored results as documents. Pure functions: the same results give the same bytes.

namespace curnm {

struct ReportOptions {
  std::string title;  // default: what the results are of
};

/// One page that needs nothing else: style, charts and script are inside.
std::string html_report(const ResultSet& results, const ReportOptions& options);
/// The tables alone.
std::string markdown_report(const ResultSet& results, const ReportOptions& options);
std::string latex_report(const ResultSet& results, const ReportOptions& options);
/// One row per run and score.
std::string csv_report(const ResultSet& results);

}  // namespace curnm
