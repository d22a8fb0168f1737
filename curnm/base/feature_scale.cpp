#include "curnm/base/feature_scale.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "curnm/base/error.h"

namespace curnm {
namespace {

constexpr std::int64_t kSample = 20'000;

/// The values of a column in rows that are spread evenly, sorted.
std::vector<double> sorted_sample(const FeatureMatrix& features, std::span<const std::int64_t> rows,
                                  std::int64_t column) {
  const auto count = std::min<std::int64_t>(std::ssize(rows), kSample);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i * std::ssize(rows) / count)];
    values[static_cast<std::size_t>(i)] = features.row(row)[static_cast<std::size_t>(column)];
  }
  std::sort(values.begin(), values.end());
  return values;
}

double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

double deviation(const std::vector<double>& values, double center) {
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// Whether a column takes a few whole numbers that are not just flags or steps of a scale of ten.
bool looks_like_codes(const std::vector<double>& sorted) {
  constexpr std::size_t kFewest = 12;
  constexpr std::size_t kMost = 1000;
  std::set<double> distinct;
  for (const double value : sorted) {
    if (value != std::floor(value) || value < 0) return false;
    distinct.insert(value);
    if (distinct.size() > kMost) return false;
  }
  return distinct.size() >= kFewest && distinct.size() * 20 <= sorted.size();
}

/// "1, 2, 3 and 40 more"
std::string list_of(const std::vector<std::int64_t>& columns) {
  constexpr std::size_t kShown = 5;
  const std::size_t shown = std::min(columns.size(), kShown);
  std::string text = fmt::format("{}", fmt::join(columns.begin(), columns.begin() + shown, ", "));
  if (columns.size() > shown) text += fmt::format(" and {} more", columns.size() - shown);
  return text;
}

}  // namespace

FeatureScale FeatureScale::of(const FeatureMatrix& features, std::span<const std::int64_t> rows) {
  FeatureScale scale;
  if (features.width == 0 || rows.empty()) return scale;
  for (std::int64_t column = 0; column < features.width; ++column) {
    const std::vector<double> sorted = sorted_sample(features, rows, column);
    const double median = quantile(sorted, 0.5);
    constexpr double kNormal = 1.349;  // interquartile range of a normal variable
    double spread = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / kNormal;
    if (!(spread > 0)) spread = deviation(sorted, median);
    const auto factor = static_cast<float>(1 / spread);
    scale.center.push_back(static_cast<float>(median));
    scale.factor.push_back(spread > 0 && std::isfinite(factor) ? factor : 0);
  }
  return scale;
}

void FeatureScale::apply(std::span<float> row) const {
  if (is_identity()) return;
  CURNM_ASSERT(row.size() == center.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = std::clamp((row[i] - center[i]) * factor[i], -kLimit, kLimit);
  }
}

std::vector<std::string> notes_on(const FeatureMatrix& features, const FeatureScale& scale,
                                  std::span<const std::int64_t> rows, std::string_view kind) {
  std::vector<std::int64_t> constant;
  std::vector<std::int64_t> extreme;
  std::vector<std::int64_t> codes;
  for (std::int64_t column = 0; column < std::ssize(scale.center); ++column) {
    const std::vector<double> sorted = sorted_sample(features, rows, column);
    const auto c = static_cast<std::size_t>(column);
    const auto scaled = [&](double x) { return std::abs((x - scale.center[c]) * scale.factor[c]); };
    constexpr double kExtreme = 1000;
    if (scale.factor[c] == 0) {
      constant.push_back(column + 1);
    } else if (std::max(scaled(sorted.front()), scaled(sorted.back())) > kExtreme) {
      extreme.push_back(column + 1);
    } else if (looks_like_codes(sorted)) {
      codes.push_back(column + 1);
    }
  }
  std::vector<std::string> notes;
  const auto note = [&](const std::vector<std::int64_t>& columns, const char* what) {
    if (columns.empty()) return;
    notes.push_back(fmt::format("{} feature{} {}: {}", kind, columns.size() == 1 ? "" : "s",
                                list_of(columns), what));
  };
  note(constant, "the same in all training events, so left out");
  note(extreme, "values more than 1,000 times the usual are cut off; a logarithm may say more");
  note(codes, "few whole numbers; if they are codes of categories, a column for each is better");
  return notes;
}

}  // namespace curnm
