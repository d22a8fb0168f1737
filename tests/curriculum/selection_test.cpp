#include "curnm/curriculum/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "curnm/base/rng.h"

namespace curnm {
namespace {

using Positions = std::vector<std::int64_t>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// By a full stable sort: of equal scores the first ones, what is no number last.
Positions naive_top(std::span<const float> scores, std::int64_t n) {
  Positions order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const float x = scores[static_cast<std::size_t>(a)];
    const float y = scores[static_cast<std::size_t>(b)];
    return std::isnan(y) ? !std::isnan(x) : x > y;
  });
  order.resize(static_cast<std::size_t>(std::min<std::int64_t>(n, std::ssize(order))));
  std::sort(order.begin(), order.end());
  return order;
}

/// Few distinct values, so that most scores are tied; some are no numbers.
std::vector<float> tied_scores(std::uint64_t seed, std::size_t count, std::uint64_t distinct) {
  Rng rng(seed, Stream::kTest);
  std::vector<float> scores(count);
  for (float& score : scores) {
    score = rng.below(10) == 0 ? kNaN : -0.5F * static_cast<float>(rng.below(distinct));
  }
  return scores;
}

TEST(SelectedCountTest, LiteralValues) {
  EXPECT_EQ(selected_count(1, 1600), 1600);
  EXPECT_EQ(selected_count(0.5, 8), 4);
  EXPECT_EQ(selected_count(0.3, 1600), 480);
  EXPECT_EQ(selected_count(0.97, 8), 8) << "7.76 is rounded";
  EXPECT_EQ(selected_count(0.3, 8), 2) << "2.4 is rounded";
  EXPECT_EQ(selected_count(0.01, 8), 1) << "never none";
}

TEST(TopTest, LiteralValues) {
  const std::vector<float> scores = {-1, 3, 2, 3, kNaN, 2, -7};
  EXPECT_EQ(top(scores, 0), Positions{});
  EXPECT_EQ(top(scores, 1), Positions{1});
  EXPECT_EQ(top(scores, 2), (Positions{1, 3}));
  EXPECT_EQ(top(scores, 3), (Positions{1, 2, 3})) << "the first of the equal ones";
  EXPECT_EQ(top(scores, 6), (Positions{0, 1, 2, 3, 5, 6})) << "what is no number is last";
  EXPECT_EQ(top(scores, 7), (Positions{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(top(scores, 100), top(scores, 7));
  EXPECT_EQ(top({}, 3), Positions{});
}

TEST(TopTest, EqualsAFullSort) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::size_t count = 1 + seed * 7 % 83;
    const std::vector<float> scores = tied_scores(seed, count, 1 + seed % 9);
    for (std::int64_t n = 0; n <= static_cast<std::int64_t>(count); ++n) {
      ASSERT_EQ(top(scores, n), naive_top(scores, n)) << "seed " << seed << ", n " << n;
    }
  }
}

TEST(TopOfRowsTest, IsTopOfEachRow) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const std::int64_t width : {1, 2, 8, 13}) {
      constexpr std::int64_t kRows = 9;
      const std::vector<float> scores =
          tied_scores(seed, static_cast<std::size_t>(kRows * width), 4);
      for (std::int64_t n = 0; n <= width; ++n) {
        Positions expected;
        for (std::int64_t row = 0; row < kRows; ++row) {
          const auto part = std::span(scores).subspan(static_cast<std::size_t>(row * width),
                                                      static_cast<std::size_t>(width));
          for (std::int64_t j : naive_top(part, n)) expected.push_back(row * width + j);
        }
        ASSERT_EQ(top_of_rows(scores, width, n), expected) << "width " << width << ", n " << n;
      }
    }
  }
}

double effective_share(const std::vector<float>& weights) {
  double squares = 0;
  for (const float w : weights) squares += static_cast<double>(w) * w;
  return 1 / squares / static_cast<double>(weights.size());
}

TEST(SoftWeightsTest, AddUpToOneGrowWithScoresAndHaveTheAskedShare) {
  std::vector<float> scores;
  Rng rng(1, Stream::kTest);
  for (int i = 0; i < 200; ++i) scores.push_back(static_cast<float>(6 * rng.uniform() - 3));
  for (const double pi : {0.9, 0.5, 0.2, 0.05}) {
    const std::vector<float> weights = soft_weights(scores, pi);
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-5);
    EXPECT_NEAR(effective_share(weights), pi, 1e-3);
    for (std::size_t i = 1; i < scores.size(); ++i) {
      EXPECT_EQ(scores[i] > scores[0], weights[i] > weights[0]) << i;
    }
  }
}

// w is exp(a·0), exp(a·ln 4) = 1, 2 for a = 1/2: (1 + 2)^2 / (1 + 4) / 2 = 0.9.
TEST(SoftWeightsTest, LiteralValues) {
  const std::vector<float> scores = {0, std::log(4.0F)};
  const std::vector<float> weights = soft_weights(scores, 0.9);
  EXPECT_NEAR(weights[0], 1 / 3.0, 1e-4);
  EXPECT_NEAR(weights[1], 2 / 3.0, 1e-4);
}

TEST(SoftWeightsTest, AlikeWhereNothingIsToBeChosen) {
  const std::vector<float> alike(4, 0.25F);
  EXPECT_EQ(soft_weights(std::vector<float>{1, 2, 3, 4}, 1), alike);
  EXPECT_EQ(soft_weights(std::vector<float>(4, 7), 0.1), alike) << "equal scores";
  EXPECT_EQ(soft_weights(std::vector<float>{1, 2, NAN, 4}, 0.5), alike);
  EXPECT_EQ(soft_weights(std::vector<float>{3}, 0.5), std::vector<float>{1});
  EXPECT_TRUE(soft_weights({}, 0.5).empty());
}

}  // namespace
}  // namespace curnm
