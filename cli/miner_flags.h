#pragma once

#include <CLI/CLI.hpp>

#include "curnm/miners/options.h"

namespace curnm::cli {

/// The flags of all miners, and --preset, which curnm's start from.
/// REQUIRES: `options` outlives the parsing.
void add_miner_flags(CLI::App& command, MinerOptions& options);

/// Throws UsageError for a flag that was given and that the miner makes no use of.
void check_miner_flags(const CLI::App& command, const std::string& miner);
/// The same for flags of parts that other flags switch off. Not for grids and searches, where the
/// option of one part is shared by runs with and without that part.
void check_flags_of_parts(const CLI::App& command, const CurnmOptions& options);

}  // namespace curnm::cli
