#pragma once

#include <CLI/CLI.hpp>

#include "curnm/miners/options.h"

namespace curnm::cli {

/// The flags of all miners, and --preset, which curnm's start from.
/// REQUIRES: `options` outlives the parsing.
void add_miner_flags(CLI::App& command, MinerOptions& options);

/// Throws UsageError for a flag that was given and that the miner makes no use of.
void check_miner_flags(const CLI::App& command, const std::string& miner);

/// Flags of curnm without effect, because its options switch their part off.
struct IdleFlags {
  std::vector<const char*> flags;
  std::string_view of;  // what has no use for them
};
std::vector<IdleFlags> idle_flags(const CurnmOptions& options);
/// Throws UsageError where one of them was given.
void refuse_idle_flags(const CLI::App& command, const CurnmOptions& options);

}  // namespace curnm::cli
