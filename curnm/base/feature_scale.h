#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "curnm/base/column.h"
#include "curnm/base/options.h"

namespace curnm {

/// What models are given: features on one scale, or as they are in the data.
enum class FeatureInput { kStandardised, kRaw };
constexpr ChoiceNames<2> choice_names(FeatureInput) { return {"standardised", "raw"}; }

/// How raw features become inputs of a network: (x - center) * factor, clamped to ±kLimit, so that
/// no unit and no outlier decides a training. Without columns: as they are.
struct FeatureScale {
  static constexpr float kLimit = 10;

  std::vector<float> center;  // [width]
  std::vector<float> factor;  // [width]; 0 for a column that is constant

  /// Median and interquartile range of each column over the given rows, or over a few ten thousand
  /// of them spread evenly. A column whose middle half is one value is scaled by its deviation.
  static FeatureScale of(const FeatureMatrix& features, std::span<const std::int64_t> rows);

  bool is_identity() const { return center.empty(); }
  /// One row, in place.
  void apply(std::span<float> row) const;
};

/// What a user should know about columns, in sentences: those that are constant, have extreme
/// values, or look like codes of categories. `kind` names the features: "edge" or "node".
std::vector<std::string> notes_on(const FeatureMatrix& features, const FeatureScale& scale,
                                  std::span<const std::int64_t> rows, std::string_view kind);

}  // namespace curnm
