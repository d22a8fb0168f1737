#pragma once

#include <cstdint>
#include <span>

#include "curnm/experiments/job.h"
#include "curnm/experiments/result_set.h"

namespace curnm {

/// Seconds that a job takes on one thread if all its epochs are run: from finished runs of its
/// model and miner (on its own network, if there are any), else from rates measured on an ordinary
/// machine.
double estimated_seconds(const Job& job, std::int64_t events, std::int64_t epochs,
                         const ResultSet& known);

/// The total time of runs that take these seconds each, `workers` at a time.
double side_by_side(std::span<const double> seconds, std::int64_t workers);

}  // namespace curnm
