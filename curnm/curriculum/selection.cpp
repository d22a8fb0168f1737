#include "curnm/curriculum/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace curnm {
namespace {

void append_top(std::span<const float> scores, std::int64_t offset, std::int64_t n,
                std::vector<std::int64_t>& out) {
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min(static_cast<std::ptrdiff_t>(n), std::ssize(order));
  // NaN comes last: the comparison must be a strict order even if a training diverges.
  const auto score = [&](std::int64_t i) {
    const float value = scores[static_cast<std::size_t>(i)];
    return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
  };
  const auto higher = [&](std::int64_t a, std::int64_t b) {
    const float score_a = score(a);
    const float score_b = score(b);
    return score_a != score_b ? score_a > score_b : a < b;
  };
  if (count < std::ssize(order)) {
    std::nth_element(order.begin(), order.begin() + count, order.end(), higher);
    order.resize(static_cast<std::size_t>(count));
    std::sort(order.begin(), order.end());
  }
  for (std::int64_t position : order) out.push_back(offset + position);
}

}  // namespace

std::int64_t selected_count(double pi, std::int64_t candidates) {
  return std::max<std::int64_t>(1, std::llround(pi * static_cast<double>(candidates)));
}

std::vector<std::int64_t> top(std::span<const float> scores, std::int64_t n) {
  std::vector<std::int64_t> positions;
  append_top(scores, 0, n, positions);
  return positions;
}

std::vector<std::int64_t> top_of_rows(std::span<const float> scores, std::int64_t width,
                                      std::int64_t n) {
  std::vector<std::int64_t> positions;
  const auto row = static_cast<std::size_t>(width);
  for (std::size_t begin = 0; begin < scores.size(); begin += row) {
    append_top(scores.subspan(begin, row), static_cast<std::int64_t>(begin), n, positions);
  }
  return positions;
}

namespace {

/// exp(a·(score - best)), normalised; and the effective share of them.
double weigh(std::span<const float> scores, double a, std::vector<float>& weights) {
  const double best = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(a * (scores[i] - best));
    weights[i] = static_cast<float>(weight);
    sum += weight;
    squares += weight * weight;
  }
  for (float& weight : weights) weight = static_cast<float>(weight / sum);
  return sum * sum / squares / static_cast<double>(scores.size());
}

}  // namespace

std::vector<float> soft_weights(std::span<const float> scores, double pi) {
  std::vector<float> weights(scores.size(), 1 / static_cast<float>(scores.size()));
  const bool comparable =
      std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); });
  if (pi >= 1 || scores.size() < 2 || !comparable) return weights;
  // The share falls as a grows: by halves. Where scores are equal, it cannot fall far enough.
  constexpr int kSteps = 30;
  double low = 0;
  double high = 64;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (weigh(scores, middle, weights) > pi ? low : high) = middle;
  }
  weigh(scores, high, weights);
  return weights;
}

}  // namespace curnm
