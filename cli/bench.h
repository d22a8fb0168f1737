#pragma once

#include <CLI/CLI.hpp>

#include "curnm/base/options.h"

namespace curnm::cli {

void add_bench_step(CLI::App& bench);
void add_bench_epoch(CLI::App& bench);
void add_bench_ranks(CLI::App& bench);

/// What is measured unless the options say otherwise: the paper's graph network. Returns whether
/// the miner is a curriculum; its pi stays constant, to measure the cost at that point.
bool add_bench_defaults(GivenOptions& given);

}  // namespace curnm::cli
