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

}  // namespace curnm
