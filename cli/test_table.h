#pragma once

#include <nlohmann/json.hpp>

namespace curnm::cli {

/// Prints a result.json as a table: protocols as rows; all events, new nodes and the best rule
/// without learning as columns.
void print_results(const nlohmann::ordered_json& result);

}  // namespace curnm::cli
