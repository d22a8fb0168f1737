#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "curnm/report/report.h"

namespace curnm {

/// A backtest (docs/schemas/backtest.schema.json) as one HTML page: what it found, a chart of each
/// figure by period beside the best rule, and the table. Throws Error if it is none.
std::string backtest_report(const nlohmann::ordered_json& result, const ReportOptions& options);

}  // namespace curnm
