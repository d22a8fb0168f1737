#pragma once

#include <CLI/CLI.hpp>

#include "curnm/curriculum/options.h"

namespace curnm::cli {

void add_bench_step(CLI::App& bench);
void add_bench_epoch(CLI::App& bench);

/// Unless told otherwise, a share of the pool that stays: the cost at that point of a curriculum.
void hold_pi(const CLI::App& command, CurnmOptions& options);
/// Says so in the help.
void show_held_pi(CLI::App& command);

}  // namespace curnm::cli
