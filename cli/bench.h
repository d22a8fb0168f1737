#pragma once

#include <CLI/CLI.hpp>

#include "curnm/base/options.h"

namespace curnm::cli {

void add_bench_step(CLI::App& bench);
void add_bench_epoch(CLI::App& bench);

/// Keeps pi constant unless the options say otherwise, to measure the cost at that point of a
/// curriculum.
void hold_pi(GivenOptions& given);

}  // namespace curnm::cli
