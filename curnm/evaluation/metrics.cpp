#include "curnm/evaluation/metrics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "curnm/base/error.h"

namespace curnm {
namespace {

bool any_nan(std::span<const float> scores) {
  return std::ranges::any_of(scores, [](float x) { return std::isnan(x); });
}

/// Calls visit(positives, negatives) for each group of equal scores, from the highest. REQUIRES: no
/// NaN, which is equal to nothing.
template <class Visit>
void for_each_score(std::span<const float> positives, std::span<const float> negatives,
                    const Visit& visit) {
  std::vector<float> high(positives.begin(), positives.end());
  std::vector<float> low(negatives.begin(), negatives.end());
  std::sort(high.begin(), high.end(), std::greater<>());
  std::sort(low.begin(), low.end(), std::greater<>());
  auto p = high.begin();
  auto n = low.begin();
  while (p != high.end() || n != low.end()) {
    const float score = n == low.end() || (p != high.end() && *p > *n) ? *p : *n;
    const auto next_p = std::find_if(p, high.end(), [&](float x) { return x != score; });
    const auto next_n = std::find_if(n, low.end(), [&](float x) { return x != score; });
    visit(next_p - p, next_n - n);
    p = next_p;
    n = next_n;
  }
}

}  // namespace

double average_precision(std::span<const float> positives, std::span<const float> negatives) {
  CURNM_ASSERT(!positives.empty());
  if (any_nan(positives) || any_nan(negatives)) return std::nan("");
  double found = 0;
  double seen = 0;
  double sum = 0;
  for_each_score(positives, negatives, [&](std::int64_t p, std::int64_t n) {
    found += static_cast<double>(p);
    seen += static_cast<double>(p + n);
    sum += static_cast<double>(p) * found / seen;
  });
  return sum / static_cast<double>(positives.size());
}

double roc_auc(std::span<const float> positives, std::span<const float> negatives) {
  CURNM_ASSERT(!positives.empty() && !negatives.empty());
  if (any_nan(positives) || any_nan(negatives)) return std::nan("");
  double above = 0;  // positives with a higher score than the current group
  double ordered = 0;
  for_each_score(positives, negatives, [&](std::int64_t p, std::int64_t n) {
    ordered += static_cast<double>(n) * (above + 0.5 * static_cast<double>(p));
    above += static_cast<double>(p);
  });
  return ordered / static_cast<double>(positives.size()) / static_cast<double>(negatives.size());
}

double reciprocal_rank(float positive, std::span<const float> negatives) {
  const auto higher =
      std::count_if(negatives.begin(), negatives.end(), [&](float x) { return x > positive; });
  const auto equal = std::count(negatives.begin(), negatives.end(), positive);
  return 1 / (1 + static_cast<double>(higher) + 0.5 * static_cast<double>(equal));
}

LinkMetrics link_metrics(std::span<const float> positives, std::span<const float> negatives,
                         std::int64_t batch_size) {
  CURNM_ASSERT(positives.size() == negatives.size() && !positives.empty() && batch_size > 0);
  LinkMetrics metrics{.ap_global = average_precision(positives, negatives),
                      .auc_global = roc_auc(positives, negatives)};
  const auto step = static_cast<std::size_t>(batch_size);
  double batches = 0;
  for (std::size_t first = 0; first < positives.size(); first += step) {
    const std::size_t size = std::min(step, positives.size() - first);
    metrics.ap += average_precision(positives.subspan(first, size), negatives.subspan(first, size));
    metrics.auc += roc_auc(positives.subspan(first, size), negatives.subspan(first, size));
    ++batches;
  }
  metrics.ap /= batches;
  metrics.auc /= batches;
  return metrics;
}

}  // namespace curnm
