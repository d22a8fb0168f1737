#include "curnm/experiments/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

// Expected values of tests and deviations: SciPy 1.10.1 (ttest_rel, rankdata), NumPy 1.24 (std with
// ddof = 1).

namespace curnm {
namespace {

using Scores = std::vector<double>;

TEST(SummaryTest, EqualsNumPy) {
  const Summary summary = summarize(Scores{.61, .63, .59, .64, .60});
  EXPECT_EQ(summary.count, 5);
  EXPECT_NEAR(summary.mean, 0.614, 1e-15);
  EXPECT_NEAR(summary.std, 0.02073644135332774, 1e-15);
}

TEST(SummaryTest, OneScoreHasNoDeviationAndNoneNoMean) {
  EXPECT_EQ(summarize(Scores{.5}).mean, .5);
  EXPECT_TRUE(std::isnan(summarize(Scores{.5}).std));
  EXPECT_TRUE(std::isnan(summarize(Scores{}).mean));
}

TEST(PairedTTest, EqualDifferencesSayNothingAlsoWhenTheyAreRounded) {
  EXPECT_FALSE(paired_t_test(Scores{.8, .7, .9}, Scores{.7, .6, .8}));
}

TEST(PairedTTest, EqualsSciPy) {
  EXPECT_NEAR(*paired_t_test(Scores{.9127, .9043, .9210}, Scores{.8748, .8791, .8702}),
              0.035862349765417606, 1e-12);
  EXPECT_NEAR(*paired_t_test(Scores{.61, .63, .59, .64, .60}, Scores{.60, .635, .58, .61, .605}),
              0.28213534548563024, 1e-12);
}

TEST(PairedTTest, DoesNotDependOnTheSide) {
  const Scores a = {.9, .8, .85};
  const Scores b = {.7, .75, .6};
  EXPECT_EQ(paired_t_test(a, b), paired_t_test(b, a));
}

TEST(PairedTTest, SaysNothingOfOnePairOrOfEqualDifferences) {
  EXPECT_EQ(paired_t_test(Scores{.9}, Scores{.8}), std::nullopt);
  EXPECT_EQ(paired_t_test(Scores{}, Scores{}), std::nullopt);
  EXPECT_EQ(paired_t_test(Scores{.5, .75}, Scores{.25, .5}), std::nullopt);
}

TEST(HolmTest, LiteralValues) {
  const Scores expected = {0.04, 0.09, 0.09, 0.025, 0.5};
  const Scores adjusted = holm(Scores{0.01, 0.04, 0.03, 0.005, 0.5});
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15);
  EXPECT_EQ(holm(Scores{0.4, 0.9}), (Scores{0.8, 0.9}));
  EXPECT_EQ(holm(Scores{0.7, 0.6}), (Scores{1, 1}));
  EXPECT_EQ(holm(Scores{}), Scores{});
}

TEST(RanksTest, TheLargestIsFirstAndTiesShare) {
  EXPECT_EQ(ranks(Scores{.3, .5, .5, .1}), (Scores{3, 1.5, 1.5, 4}));
  const Scores with_gap = ranks(Scores{.3, NAN, .5});
  EXPECT_EQ(with_gap[0], 2);
  EXPECT_TRUE(std::isnan(with_gap[1]));
  EXPECT_EQ(with_gap[2], 1);
}

// Rows of the paper's table, to the rounding of its three digits.
TEST(AverageImprovementTest, IsThePapersFigure) {
  EXPECT_NEAR(average_improvement(.700, Scores{.681, .601, .693, .533}), 12.901, 0.1);
  EXPECT_NEAR(average_improvement(.516, Scores{.510, .502, .508, .513}), 1.486, 0.1);
  EXPECT_NEAR(average_improvement(.815, Scores{.771, .573, NAN, .742}), 19.236, 0.1);
  EXPECT_TRUE(std::isnan(average_improvement(.5, Scores{NAN})));
}

}  // namespace
}  // namespace curnm
