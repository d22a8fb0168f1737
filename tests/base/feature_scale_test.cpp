#include "curnm/base/feature_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "curnm/base/rng.h"

namespace curnm {
namespace {

FeatureMatrix one_column(std::vector<float> values) {
  return {Column<float>(std::move(values)), 1};
}
std::vector<std::int64_t> all_rows(const FeatureMatrix& features) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(features.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}
float scaled(const FeatureScale& scale, float value) {
  scale.apply(std::span(&value, 1));
  return value;
}

TEST(FeatureScaleTest, CentersOnTheMedianAndDividesByTheMiddleHalf) {
  std::vector<float> values(101);
  std::iota(values.begin(), values.end(), 100.0F);  // quartiles 125 and 175
  const FeatureMatrix features = one_column(values);
  const FeatureScale scale = FeatureScale::of(features, all_rows(features));
  EXPECT_FLOAT_EQ(scaled(scale, 150), 0);
  EXPECT_FLOAT_EQ(scaled(scale, 200), 50 / (50 / 1.349F));
  EXPECT_FLOAT_EQ(scaled(scale, 100), -50 / (50 / 1.349F));
}

TEST(FeatureScaleTest, OutliersDoNotDecide) {
  std::vector<float> values(101);
  std::iota(values.begin(), values.end(), 100.0F);
  const FeatureMatrix plain = one_column(values);
  values.back() = 1e30F;
  const FeatureMatrix extreme = one_column(values);
  const FeatureScale scale = FeatureScale::of(extreme, all_rows(extreme));
  EXPECT_EQ(scale.factor, FeatureScale::of(plain, all_rows(plain)).factor);
  EXPECT_EQ(scaled(scale, 1e30F), FeatureScale::kLimit);
  EXPECT_EQ(scaled(scale, -std::numeric_limits<float>::max()), -FeatureScale::kLimit);
}

TEST(FeatureScaleTest, ARareFlagIsScaledByItsDeviation) {
  std::vector<float> values(100, 0.0F);
  for (std::size_t i = 0; i < 4; ++i) values[25 * i] = 1;
  const FeatureMatrix features = one_column(values);
  const FeatureScale scale = FeatureScale::of(features, all_rows(features));
  EXPECT_FLOAT_EQ(scaled(scale, 0), 0);
  EXPECT_FLOAT_EQ(scaled(scale, 1), 5);  // 1 / sqrt(0.04)
}

TEST(FeatureScaleTest, AConstantColumnIsLeftOut) {
  const FeatureMatrix features = one_column({7, 7, 7});
  const FeatureScale scale = FeatureScale::of(features, all_rows(features));
  EXPECT_EQ(scaled(scale, 7), 0);
  EXPECT_EQ(scaled(scale, 8), 0) << "what training never saw vary says nothing";
}

TEST(FeatureScaleTest, OnlyTheGivenRowsCount) {
  const FeatureMatrix features = one_column({1, 2, 3, 4, 5, 1e6F, 2e6F});
  const std::vector<std::int64_t> rows = {0, 1, 2, 3, 4};
  const FeatureMatrix first = one_column({1, 2, 3, 4, 5});
  const FeatureScale scale = FeatureScale::of(features, rows);
  EXPECT_EQ(scale.center, FeatureScale::of(first, all_rows(first)).center);
  EXPECT_EQ(scale.factor, FeatureScale::of(first, all_rows(first)).factor);
}

TEST(FeatureScaleTest, NothingIsChangedWithoutColumns) {
  EXPECT_TRUE(FeatureScale::of({}, {}).is_identity());
  EXPECT_EQ(scaled({}, 3), 3);
}

TEST(FeatureScaleTest, NotesNameTheColumns) {
  constexpr std::int64_t kRows = 1000;
  std::vector<float> values;
  for (std::int64_t row = 0; row < kRows; ++row) {
    values.push_back(static_cast<float>(row) * 0.37F);                        // fine
    values.push_back(4);                                                      // constant
    values.push_back(row == 500 ? 1e9F : std::sin(static_cast<float>(row)));  // an extreme value
    values.push_back(static_cast<float>(row * 7 % 30));                       // codes
    values.push_back(static_cast<float>(row % 2));                            // a flag
  }
  const FeatureMatrix features{Column<float>(std::move(values)), 5};
  const std::vector<std::int64_t> rows = all_rows(features);
  const std::vector<std::string> notes =
      notes_on(features, FeatureScale::of(features, rows), rows, "edge");
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_TRUE(notes[0].starts_with("edge feature 2: the same")) << notes[0];
  EXPECT_TRUE(notes[1].starts_with("edge feature 3: values more than 1,000")) << notes[1];
  EXPECT_TRUE(notes[2].starts_with("edge feature 4: few whole numbers")) << notes[2];
}

}  // namespace
}  // namespace curnm
