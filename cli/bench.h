#pragma once

#include <CLI/CLI.hpp>

#include "curnm/base/options.h"

namespace curnm::cli {

void add_bench_step(CLI::App& bench);
void add_bench_epoch(CLI::App& bench);

/// Unless told otherwise, a share of the pool that stays: the cost at that point of a curriculum.
void hold_pi(GivenOptions& given);

}  // namespace curnm::cli
