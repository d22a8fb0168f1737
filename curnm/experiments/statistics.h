#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// What tables of results are made of. Plain functions of numbers; tested against SciPy.

namespace curnm {

/// Of one cell: the scores of its seeds.
struct Summary {
  std::int64_t count = 0;
  double mean = 0;  // NaN where there is none
  double std = 0;   // of the sample (n - 1); NaN for fewer than two
};
Summary summarize(std::span<const double> scores);

/// Two-sided p of Student's t-test on pairs: scores of two methods with the same seeds. None for
/// fewer than two pairs, and none where all differences are the same: the test says nothing then.
/// REQUIRES: as many of one as of the other.
std::optional<double> paired_t_test(std::span<const double> a, std::span<const double> b);

/// Holm's correction of several p values that are looked at together, in their order.
std::vector<double> holm(std::span<const double> p);

/// Ranks of scores, 1 for the largest; equal ones share the mean of their ranks. A NaN (no result)
/// has none and stays NaN.
std::vector<double> ranks(std::span<const double> scores);

/// The paper's AvgImp: the mean of 100·(ours - other) / other over the others that have a result.
/// NaN where there is none.
double average_improvement(double ours, std::span<const double> others);

}  // namespace curnm
