#include "curnm/experiments/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/experiments/result_set.h"

namespace curnm {

Summary summarize(std::span<const double> scores) {
  const auto count = static_cast<double>(scores.size());
  Summary summary{.count = std::ssize(scores), .mean = kNoValue, .std = kNoValue};
  if (scores.empty()) return summary;
  summary.mean = std::accumulate(scores.begin(), scores.end(), 0.0) / count;
  if (scores.size() < 2) return summary;
  double squares = 0;
  for (double score : scores) squares += (score - summary.mean) * (score - summary.mean);
  summary.std = std::sqrt(squares / (count - 1));
  return summary;
}

std::optional<double> paired_t_test(std::span<const double> a, std::span<const double> b) {
  CURNM_ASSERT(a.size() == b.size());
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  const Summary of = summarize(differences);
  if (of.count < 2) return std::nullopt;
  double largest = 0;
  for (std::span<const double> scores : {a, b}) {
    for (double score : scores) largest = std::max(largest, std::abs(score));
  }
  constexpr double kRounding = 1e-12;  // equal differences are not quite equal in binary
  if (of.std <= kRounding * largest) return std::nullopt;
  const double t = of.mean / (of.std / std::sqrt(static_cast<double>(of.count)));
  const boost::math::students_t distribution(static_cast<double>(of.count - 1));
  return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, static_cast<double>(order.size() - i) * p[order[i]]);
    adjusted[order[i]] = std::min(largest, 1.0);
  }
  return adjusted;
}

std::vector<double> ranks(std::span<const double> scores) {
  std::vector<double> result;
  for (double score : scores) {
    const auto above = std::ranges::count_if(scores, [&](double s) { return s > score; });
    const auto equal = std::ranges::count(scores, score);
    result.push_back(std::isnan(score)
                         ? kNoValue
                         : static_cast<double>(above) + (static_cast<double>(equal) + 1) / 2);
  }
  return result;
}

double average_improvement(double ours, std::span<const double> others) {
  std::vector<double> improvements;
  for (double other : others) {
    if (!std::isnan(other)) improvements.push_back(100 * (ours - other) / other);
  }
  return summarize(improvements).mean;
}

}  // namespace curnm
