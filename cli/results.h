#pragma once

#include <nlohmann/json.hpp>

namespace curnm::cli {

/// A table of a result.json: protocols by (all events, new nodes, the best rule without learning).
/// `only` shows one protocol.
void print_results(const nlohmann::ordered_json& result, const std::string& only = "");

/// Threads of the core and of LibTorch; 0 means all cores.
void set_threads(std::int64_t threads);

}  // namespace curnm::cli
