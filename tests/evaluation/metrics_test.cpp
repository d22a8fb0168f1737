#include "curnm/evaluation/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "curnm/base/rng.h"

namespace curnm {
namespace {

using Scores = std::vector<float>;

// By hand. Scores 0.9+ 0.8- 0.7+ 0.6-: precision 1/1 at the first positive, 2/3 at the second.
TEST(AveragePrecisionTest, LiteralValues) {
  EXPECT_DOUBLE_EQ(average_precision(Scores{0.9F, 0.7F}, Scores{0.8F, 0.6F}), (1.0 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(average_precision(Scores{1}, Scores{0}), 1);
  EXPECT_DOUBLE_EQ(average_precision(Scores{0}, Scores{1}), 0.5);
}

// Ties are one threshold, as in scikit-learn: average_precision_score([1,0,1,0], [.5,.5,.5,.5]) =
// 0.5 and average_precision_score([1,1,0,1,0,0], [.8,.4,.4,.4,.1,.4]) = 1/3·1 + 2/3·3/5.
TEST(AveragePrecisionTest, TiesCountAsOneStep) {
  EXPECT_DOUBLE_EQ(average_precision(Scores{0.5F, 0.5F}, Scores{0.5F, 0.5F}), 0.5);
  EXPECT_DOUBLE_EQ(average_precision(Scores{0.8F, 0.4F, 0.4F}, Scores{0.4F, 0.1F, 0.4F}),
                   1.0 / 3 + 2.0 / 3 * 3 / 5);
}

TEST(MetricsTest, AScoreThatIsNoNumberHasNoRank) {
  for (const auto& [high, low] :
       {std::pair{Scores{1, NAN}, Scores{0, .5F}}, std::pair{Scores{1, .5F}, Scores{NAN, NAN}}}) {
    EXPECT_TRUE(std::isnan(average_precision(high, low)));
    EXPECT_TRUE(std::isnan(roc_auc(high, low)));
  }
}

// roc_auc_score([1,1,0,1,0,0], [.8,.4,.4,.4,.1,.4]): of 9 pairs 5 are ordered rightly, 4 tie.
TEST(RocAucTest, LiteralValues) {
  EXPECT_DOUBLE_EQ(roc_auc(Scores{0.8F, 0.4F, 0.4F}, Scores{0.4F, 0.1F, 0.4F}), (5 + 0.5 * 4) / 9);
  EXPECT_DOUBLE_EQ(roc_auc(Scores{1}, Scores{1}), 0.5);
}

/// The definition, threshold by threshold.
double naive_ap(const Scores& positives, const Scores& negatives) {
  Scores thresholds = positives;
  thresholds.insert(thresholds.end(), negatives.begin(), negatives.end());
  std::sort(thresholds.rbegin(), thresholds.rend());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  double ap = 0;
  double recall = 0;
  for (float threshold : thresholds) {
    const auto reached = [&](float score) { return score >= threshold; };
    const auto p = static_cast<double>(std::count_if(positives.begin(), positives.end(), reached));
    const auto n = static_cast<double>(std::count_if(negatives.begin(), negatives.end(), reached));
    const double now = p / static_cast<double>(positives.size());
    ap += (now - recall) * p / (p + n);
    recall = now;
  }
  return ap;
}

double naive_auc(const Scores& positives, const Scores& negatives) {
  double sum = 0;
  for (float p : positives) {
    for (float n : negatives) sum += p > n ? 1 : p == n ? 0.5 : 0;
  }
  return sum / static_cast<double>(positives.size() * negatives.size());
}

TEST(MetricsTest, MatchTheDefinitionsOnRandomScoresWithTies) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed, Stream::kTest);
    const auto draw = [&](std::size_t n) {
      Scores scores(n);
      for (float& s : scores) s = static_cast<float>(rng.below(15)) / 7;
      return scores;
    };
    const Scores positives = draw(1 + rng.below(30));
    const Scores negatives = draw(1 + rng.below(30));
    EXPECT_NEAR(average_precision(positives, negatives), naive_ap(positives, negatives), 1e-12);
    EXPECT_NEAR(roc_auc(positives, negatives), naive_auc(positives, negatives), 1e-12);
  }
}

TEST(ReciprocalRankTest, TiesShareTheMeanRank) {
  EXPECT_DOUBLE_EQ(reciprocal_rank(2, Scores{1, 0}), 1);
  EXPECT_DOUBLE_EQ(reciprocal_rank(1, Scores{2, 0, 3}), 1.0 / 3);
  // A scorer that says the same of everything is in the middle: rank 1 + 50/2.
  EXPECT_DOUBLE_EQ(reciprocal_rank(1, Scores(50, 1.0F)), 1.0 / 26);
}

TEST(LinkMetricsTest, BatchMeanAndGlobalDiffer) {
  // Two batches with a drift of the scores between them: perfect in each, not in all.
  const Scores positives = {2, 2, 12, 12};
  const Scores negatives = {1, 1, 11, 11};
  const LinkMetrics metrics = link_metrics(positives, negatives, 2);
  EXPECT_DOUBLE_EQ(metrics.ap, 1);
  EXPECT_DOUBLE_EQ(metrics.auc, 1);
  EXPECT_DOUBLE_EQ(metrics.ap_global, naive_ap(positives, negatives));
  EXPECT_LT(metrics.ap_global, 0.9);
  EXPECT_DOUBLE_EQ(metrics.auc_global, 0.75);
}

TEST(LinkMetricsTest, AShortLastBatchCountsFully) {
  const Scores positives = {1, 1, 0};
  const Scores negatives = {0, 0, 1};
  EXPECT_DOUBLE_EQ(link_metrics(positives, negatives, 2).ap, (1 + 0.5) / 2);
}

}  // namespace
}  // namespace curnm
