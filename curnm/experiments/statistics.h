#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Statistics for tables of results. Pure functions; tested against SciPy.

namespace curnm {

/// Summary of one cell: the scores of its seeds.
struct Summary {
  std::int64_t count = 0;
  double mean = 0;  // NaN without scores
  double std = 0;   // of the sample (n - 1); NaN for fewer than two
};
Summary summarize(std::span<const double> scores);

/// Two-sided p of Student's t-test on pairs: scores of two methods with the same seeds. None for
/// fewer than two pairs, and none if all differences are equal, since the test is undefined then.
/// REQUIRES: equally many scores of both.
std::optional<double> paired_t_test(std::span<const double> a, std::span<const double> b);

/// Holm's correction for several p values, in the given order.
std::vector<double> holm(std::span<const double> p);

/// Ranks of scores, 1 for the largest; equal ones share the mean of their ranks. A NaN (no result)
/// has none and stays NaN.
std::vector<double> ranks(std::span<const double> scores);

/// The paper's AvgImp: the mean of 100·(ours - other) / other over the others that have a result;
/// NaN if none has.
double average_improvement(double ours, std::span<const double> others);

}  // namespace curnm
