#pragma once

#include <vector>

#include "curnm/base/rng.h"
#include "curnm/evaluation/task.h"
#include "curnm/training/options.h"

namespace curnm {

/// Training events begin .. end-1, in the order of the stream.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Batch boundaries 0 = b_0 < b_1 < ... = events of an epoch: the inner ones are all shifted by one
/// amount, drawn from the generator.
std::vector<std::int64_t> batch_boundaries(std::int64_t events, std::int64_t batch, Rng rng);
/// The boundaries of an epoch of a training.
std::vector<std::int64_t> batch_boundaries(const LinkTask& task, const TrainOptions& options,
                                           std::int64_t epoch);
/// The same for a stretch of the events alone.
std::vector<std::int64_t> batch_boundaries(const Stretch& stretch, const TrainOptions& options,
                                           std::int64_t epoch);

}  // namespace curnm
