#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

// Tests of distributions. The generator is keyed, so each of these tests draws the same numbers in
// every run and cannot fail by chance; the tolerance only says how large a bias would be noticed.

namespace curnm::testing {

/// The value that χ² with `freedom` degrees exceeds with probability 1e-6 (Wilson and Hilferty's
/// approximation with z = 4.75, a few per cent off at most).
inline double chi_square_limit(double freedom) {
  const double spread = 2.0 / (9.0 * freedom);
  return freedom * std::pow(1.0 - spread + 4.75 * std::sqrt(spread), 3);
}

inline ::testing::AssertionResult judge_chi_square(double statistic, double freedom) {
  const double limit = chi_square_limit(freedom);
  if (statistic <= limit) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "chi-square " << statistic << " exceeds " << limit << " (" << freedom << " degrees)";
}

inline double sum_of_squared_deviations(const std::vector<std::int64_t>& counts) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const double expected = static_cast<double>(total) / static_cast<double>(counts.size());
  double sum = 0;
  for (std::int64_t count : counts) {
    sum += std::pow(static_cast<double>(count) - expected, 2);
  }
  return sum;
}

/// Are independent draws equally frequent in each bin? Tolerance: χ² at p = 1e-6.
inline ::testing::AssertionResult equally_frequent(const std::vector<std::int64_t>& counts) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const auto bins = static_cast<double>(counts.size());
  const double expected = static_cast<double>(total) / bins;
  if (expected < 20) return ::testing::AssertionFailure() << "only " << expected << " per bin";
  return judge_chi_square(sum_of_squared_deviations(counts) / expected, bins - 1);
}

/// Are independent draws as frequent as these probabilities, which add up to 1? Tolerance: χ² at p
/// = 1e-6; bins with probability 0 must stay empty.
inline ::testing::AssertionResult as_frequent_as(const std::vector<std::int64_t>& counts,
                                                 const std::vector<double>& probabilities) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  double statistic = 0;
  double bins = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities.at(i) * static_cast<double>(total);
    if (expected == 0 && counts[i] == 0) continue;
    if (expected < 10) return ::testing::AssertionFailure() << expected << " of bin " << i;
    statistic += std::pow(static_cast<double>(counts[i]) - expected, 2) / expected;
    ++bins;
  }
  return judge_chi_square(statistic, bins - 1);
}

/// Is each of n things equally often among the k that are drawn without replacement, over `trials`
/// independent draws? A count has variance trials·p(1-p), p = k/n, and the counts of one trial sum
/// to k, so Σ(count - trials·p)² · (n-1) / (n·trials·p(1-p)) is χ² with n - 1 degrees. Tolerance:
/// p = 1e-6.
inline ::testing::AssertionResult equally_included(const std::vector<std::int64_t>& counts,
                                                   std::int64_t trials, std::int64_t k) {
  const auto n = static_cast<double>(counts.size());
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (total != trials * k) {
    return ::testing::AssertionFailure() << total << " draws instead of " << trials * k;
  }
  const double p = static_cast<double>(k) / n;
  const double variance = static_cast<double>(trials) * p * (1 - p);
  if (variance < 20) return ::testing::AssertionFailure() << "variance is only " << variance;
  return judge_chi_square(sum_of_squared_deviations(counts) * (n - 1) / (n * variance), n - 1);
}

}  // namespace curnm::testing
