#pragma once

#include <nlohmann/json.hpp>

namespace curnm::cli {

/// A table of a result.json: its protocols by (all events, new nodes, the best rule without
/// learning).
void print_results(const nlohmann::ordered_json& result);

}  // namespace curnm::cli
