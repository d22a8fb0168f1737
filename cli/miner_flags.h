#pragma once

#include <CLI/CLI.hpp>

#include "curnm/miners/options.h"

namespace curnm::cli {

/// The flags of all miners, and --preset, which curnm's start from.
/// REQUIRES: `options` outlives the parsing.
void add_miner_flags(CLI::App& command, MinerOptions& options);

/// Throws UsageError for a flag that was given and that the miner makes no use of.
void check_miner_flags(const CLI::App& command, const std::string& miner,
                       const MinerOptions& options);

}  // namespace curnm::cli
