#pragma once

#include <cstdint>
#include <span>

#include "curnm/experiments/job.h"
#include "curnm/experiments/result_set.h"

namespace curnm {

/// Seconds that a job takes on one thread if all its epochs are done: from the finished runs of its
/// model and miner (those on its own network, where there are some), else from rates that were
/// measured on an ordinary machine.
double estimated_seconds(const Job& job, std::int64_t events, std::int64_t epochs,
                         const ResultSet& known);

/// How long runs of so many seconds take, `workers` at a time.
double side_by_side(std::span<const double> seconds, std::int64_t workers);

}  // namespace curnm
