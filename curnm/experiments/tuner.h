#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "curnm/experiments/job.h"

// Search spaces and successive halving. Pure functions; cli/tune.cpp runs the trials.

namespace curnm {

/// An option and the values to try.
struct Dimension {
  std::string flag;
  std::vector<std::string> values;
};

/// The paper's grid of 6,480 points for a training of E_0 epochs: M, gamma_hist, tau, E',
/// alpha_max, E'', delta_min.
std::vector<Dimension> paper_grid(std::int64_t epochs);

std::int64_t number_of_points(std::span<const Dimension> space);

/// The point's values as flags, on top of `base`; points are numbered with the last dimension
/// running fastest. REQUIRES: 0 <= point < number_of_points.
Job job_of_point(std::span<const Dimension> space, std::int64_t point, Job base);

/// Distinct points in random order, determined by the seed: `count` of them, or all if there are
/// fewer.
std::vector<std::int64_t> random_points(std::span<const Dimension> space, std::int64_t count,
                                        std::uint64_t seed);

/// A stage of successive halving: how many trials are trained up to how many epochs.
struct Rung {
  std::int64_t trials = 0;
  std::int64_t epochs = 0;
};

/// Successive halving (Jamieson and Talwalkar 2016): from `trials` trials of at least `first`
/// epochs, one in `reduction` goes on to `reduction` times the epochs, until one is left or
/// `epochs` is reached. The last rung has all epochs. REQUIRES: all at least 1, reduction at
/// least 2.
std::vector<Rung> halving_rungs(std::int64_t trials, std::int64_t first, std::int64_t epochs,
                                std::int64_t reduction);

/// Positions of the `count` best scores, best first; the earlier of equal ones. NaN (a trial that
/// failed) is never among them.
std::vector<std::size_t> best_of(std::span<const double> scores, std::int64_t count);

}  // namespace curnm
