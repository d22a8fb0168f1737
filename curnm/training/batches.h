#pragma once

#include <vector>

#include "curnm/base/rng.h"
#include "curnm/evaluation/task.h"
#include "curnm/training/options.h"

namespace curnm {

/// Batch boundaries 0 = b_0 < b_1 < ... = events of an epoch: the inner ones are all shifted by one
/// amount, drawn from the generator.
std::vector<std::int64_t> batch_boundaries(std::int64_t events, std::int64_t batch, Rng rng);
/// The boundaries of an epoch of a training.
std::vector<std::int64_t> batch_boundaries(const LinkTask& task, const TrainOptions& options,
                                           std::int64_t epoch);

}  // namespace curnm
