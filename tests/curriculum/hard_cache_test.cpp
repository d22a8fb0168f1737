#include "curnm/curriculum/hard_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "curnm/base/parallel.h"
#include "support/chi_square.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::as_frequent_as;
using testing::equally_frequent;
using testing::ScopedThreads;

using Positions = std::vector<std::int64_t>;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

static_assert(sizeof(NodeId) + sizeof(ScoreHistory) == 24, "the promised bytes per candidate");

bool same_scores(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(
      a, b, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

TEST(ScoreHistoryTest, AppendingForgetsTheOldest) {
  ScoreHistory scores = kNoScores;
  scores = appended(scores, 0.1F);
  EXPECT_TRUE(same_scores(scores, ScoreHistory{kNone, kNone, kNone, kNone, 0.1F}));
  for (float score : {0.2F, 0.3F, 0.4F, 0.5F, 0.6F}) scores = appended(scores, score);
  EXPECT_EQ(scores, (ScoreHistory{0.2F, 0.3F, 0.4F, 0.5F, 0.6F}));
}

TEST(DeviationTest, LiteralValues) {
  EXPECT_EQ(deviation(kNoScores), 0);
  EXPECT_EQ(deviation({kNone, kNone, kNone, kNone, 0.7F}), 0) << "one score does not deviate";
  EXPECT_EQ(deviation({kNone, kNone, kNone, 0.25F, 0.75F}), 0.25);
  EXPECT_NEAR(deviation({kNone, kNone, 1, 2, 6}), std::sqrt(14.0 / 3), 1e-12);
  EXPECT_NEAR(deviation({0, 0.25F, 0.5F, 0.75F, 1}), std::sqrt(0.125), 1e-12);
  EXPECT_EQ(deviation({0.5F, 0.5F, 0.5F, 0.5F, 0.5F}), 0);
}

TEST(KeepWeightTest, LiteralValues) {
  EXPECT_EQ(keep_weight(0.75, 0, 0.5), 0.75);
  EXPECT_EQ(keep_weight(0.75, 0.5, 0.25), 0.625);
  EXPECT_EQ(keep_weight(0.25, 2, 0.25), 0) << "never negative";
  EXPECT_EQ(keep_weight(std::nan(""), 0.5, 0), 0) << "not a number is not hard";
}

Positions draw(const std::vector<double>& weights, std::size_t k, Rng rng) {
  Positions out(k);
  draw_weighted(weights, rng, out);
  return out;
}

// Against the probability of every ordered choice: w_i / W · w_j / (W - w_i).
TEST(DrawWeightedTest, MatchesSequentialDrawsByWeight) {
  const std::vector<double> weights = {0.05, 0.4, 0.25, 0.1};
  const double sum = 0.8;
  std::map<Positions, std::int64_t> frequency;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    ++frequency[draw(weights, 2, Rng(1, Stream::kTest, 0, i))];
  }
  std::vector<std::int64_t> counts;
  std::vector<double> probabilities;
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      if (i == j) continue;
      const double first = weights[static_cast<std::size_t>(i)];
      counts.push_back(frequency[{i, j}]);
      probabilities.push_back(first / sum * weights[static_cast<std::size_t>(j)] / (sum - first));
    }
  }
  EXPECT_EQ(frequency.size(), 12u) << "no position is drawn twice";
  EXPECT_TRUE(as_frequent_as(counts, probabilities));
}

TEST(DrawWeightedTest, ZerosComeLastAndAreEquallyLikely) {
  const std::vector<double> weights = {0, 3, std::nan(""), 0.01, 0};
  std::vector<std::int64_t> thirds(5);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Positions drawn = draw(weights, 3, Rng(2, Stream::kTest, 0, i));
    ASSERT_EQ(std::set(drawn.begin(), drawn.begin() + 2), (std::set<std::int64_t>{1, 3}));
    ++thirds[static_cast<std::size_t>(drawn[2])];
  }
  EXPECT_TRUE(equally_frequent({thirds[0], thirds[2], thirds[4]}));
}

TEST(DrawWeightedTest, AllZerosAreDrawnUniformly) {
  std::map<Positions, std::int64_t> frequency;
  for (std::uint64_t i = 0; i < 6000; ++i) {
    ++frequency[draw({0, 0, 0, 0}, 2, Rng(3, Stream::kTest, 0, i))];
  }
  std::vector<std::int64_t> counts;
  for (const auto& [choice, count] : frequency) counts.push_back(count);
  ASSERT_EQ(counts.size(), 12u);
  EXPECT_TRUE(equally_frequent(counts));
}

TEST(DrawWeightedTest, NoneAndAll) {
  const Rng rng(4, Stream::kTest);
  EXPECT_EQ(draw({1, 2}, 0, rng), Positions{});
  Positions all = draw({0.5, 0, 0.25, 1e-300}, 4, rng);
  EXPECT_EQ(all.back(), 1);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (Positions{0, 1, 2, 3}));
}

TEST(HardCacheTest, BeginsEmptyAndCountsEvents) {
  HardCache cache(/*events=*/5, /*slots=*/2);
  EXPECT_EQ(cache.size(), 0);
  EXPECT_EQ(cache.slots(), 2);
  EXPECT_FALSE(cache.has(3));
  const std::vector<NodeId> pool = {7, 8, 9, 4};
  const std::vector<float> p = {0.5F, 0.25F, 0.5F, 0.25F};
  cache.refresh(3, pool, p, /*was_late=*/false, /*alpha=*/0, Rng(1, Stream::kTest));
  EXPECT_EQ(cache.size(), 1);
  EXPECT_TRUE(cache.has(3));
  EXPECT_FALSE(cache.has(2));
  EXPECT_FALSE(cache.has(4));
  cache.refresh(3, pool, p, false, 0, Rng(2, Stream::kTest));
  cache.refresh(0, pool, p, false, 0, Rng(3, Stream::kTest));
  EXPECT_EQ(cache.size(), 2);
}

TEST(HardCacheTest, BytesPerCandidate) {
  HardCache cache(/*events=*/100, /*slots=*/4);
  EXPECT_EQ(cache.raw_nodes().size_bytes() + cache.raw_scores().size_bytes(), 100u * 4 * 24);
}

// Candidates with probability 0 are kept only where nothing else is left.
TEST(HardCacheTest, KeepsWhatTheModelFindsHard) {
  HardCache cache(1, 2);
  const std::vector<NodeId> pool = {7, 8, 9, 4};
  for (std::uint64_t i = 0; i < 50; ++i) {
    cache.refresh(0, pool, std::vector<float>{0, 0.5F, 0, 0.01F}, false, 0, Rng(i, Stream::kTest));
    const auto kept = cache.nodes(0);
    ASSERT_EQ(std::set(kept.begin(), kept.end()), (std::set<NodeId>{8, 4}));
  }
}

// 7 has scored 0.25 and 0.75: with alpha = 3 its deviation of 0.25 outweighs its score.
TEST(HardCacheTest, AnUnsteadyScoreCountsLess) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    HardCache cache(1, 1);
    const Rng rng(i, Stream::kTest);
    cache.refresh(0, std::vector<NodeId>{7, 8}, std::vector<float>{0.25F, 0}, false, 3, rng);
    ASSERT_EQ(cache.nodes(0)[0], 7);
    cache.refresh(0, std::vector<NodeId>{7, 8}, std::vector<float>{0.75F, 0.01F}, true, 3, rng);
    ASSERT_EQ(cache.nodes(0)[0], 8);
  }
}

TEST(HardCacheTest, FrequenciesMatchTheWeights) {
  const std::vector<float> p = {0.5F, 0.25F, 0.125F, 0.125F};
  std::vector<std::int64_t> counts(4);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    HardCache cache(1, 1);
    cache.refresh(0, std::vector<NodeId>{0, 1, 2, 3}, p, false, 0, Rng(5, Stream::kTest, 0, i));
    ++counts[static_cast<std::size_t>(cache.nodes(0)[0])];
  }
  EXPECT_TRUE(as_frequent_as(counts, {0.5, 0.25, 0.125, 0.125}));
}

/// The scores of each candidate since it last entered the cache, kept by name.
using Memory = std::map<NodeId, std::vector<float>>;

ScoreHistory last_five(const std::vector<float>& scores) {
  ScoreHistory history = kNoScores;
  for (float score : scores) history = appended(history, score);
  return history;
}

// Pools of three cached and three new candidates over 9 epochs, longer than the memory of scores. A
// candidate that left the cache and comes back as a new one has no past.
TEST(HardCacheTest, ScoresStayWithTheirCandidate) {
  constexpr std::int64_t kEvents = 6;
  constexpr std::int64_t kSlots = 3;
  HardCache cache(kEvents, kSlots);
  std::vector<Memory> memories(kEvents);
  std::size_t longest = 0;
  for (std::uint64_t epoch = 0; epoch < 9; ++epoch) {
    for (std::int64_t event = 0; event < kEvents; ++event) {
      Rng rng(6, Stream::kTest, epoch, static_cast<std::uint64_t>(event));
      Memory& memory = memories[static_cast<std::size_t>(event)];
      const bool late = epoch > 0;
      std::vector<NodeId> pool;
      if (late) pool.assign(cache.nodes(event).begin(), cache.nodes(event).end());
      const std::set<NodeId> before(pool.begin(), pool.end());
      while (pool.size() < 2 * kSlots) {
        const auto node = static_cast<NodeId>(rng.below(12));
        if (std::find(pool.begin(), pool.end(), node) == pool.end()) pool.push_back(node);
      }
      std::vector<float> p(pool.size());
      for (std::size_t j = 0; j < p.size(); ++j) {
        // Cached ones score higher, so that some stay for many epochs.
        p[j] = static_cast<float>(rng.uniform()) + (before.contains(pool[j]) ? 5.0F : 0.1F);
      }
      Memory next;
      for (std::size_t j = 0; j < p.size(); ++j) {
        if (before.contains(pool[j])) next[pool[j]] = memory[pool[j]];
        next[pool[j]].push_back(p[j]);
      }
      memory = next;

      const std::int64_t fresh = cache.refresh(event, pool, p, late, 0.1, rng.split(1));
      const auto kept = cache.nodes(event);
      ASSERT_EQ(std::set(kept.begin(), kept.end()).size(), kept.size());
      std::int64_t expected_fresh = 0;
      for (std::size_t slot = 0; slot < kept.size(); ++slot) {
        ASSERT_TRUE(memory.contains(kept[slot])) << "not of this pool";
        if (!before.contains(kept[slot])) ++expected_fresh;
        const std::vector<float>& own = memory[kept[slot]];
        longest = std::max(longest, own.size());
        const std::size_t at = static_cast<std::size_t>(event) * kSlots + slot;
        ASSERT_TRUE(same_scores(cache.raw_scores().subspan(at * kScoreHistory, kScoreHistory),
                                last_five(own)))
            << "event " << event << ", epoch " << epoch;
      }
      ASSERT_EQ(fresh, expected_fresh);
    }
  }
  EXPECT_GT(longest, kScoreHistory) << "no candidate stayed long enough for this test";
}

TEST(HardCacheTest, AnEarlyPoolStartsAnew) {
  HardCache cache(1, 2);
  const std::vector<NodeId> pool = {7, 8, 9, 4};
  const std::vector<float> p = {0.5F, 0.25F, 0, 0};
  EXPECT_EQ(cache.refresh(0, pool, p, /*was_late=*/false, 0, Rng(1, Stream::kTest)), 2);
  EXPECT_EQ(cache.refresh(0, pool, p, /*was_late=*/false, 0, Rng(2, Stream::kTest)), 2);
  for (std::size_t slot = 0; slot < 2; ++slot) {
    EXPECT_TRUE(std::isnan(cache.raw_scores()[slot * kScoreHistory + 3])) << "one score only";
  }
}

TEST(HardCacheTest, EventsCanBeRefreshedInParallel) {
  constexpr std::int64_t kEvents = 200;
  const auto filled = [&](int threads) {
    const ScopedThreads scope(threads);
    HardCache cache(kEvents, 2);
    parallel_for(kEvents, /*grain=*/8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t event = begin; event < end; ++event) {
        const auto base = static_cast<NodeId>(10 * event);
        cache.refresh(event, std::vector<NodeId>{base, base + 1, base + 2, base + 3},
                      std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F}, false, 0,
                      Rng(7, Stream::kTest, 0, static_cast<std::uint64_t>(event)));
      }
    });
    return std::vector<NodeId>(cache.raw_nodes().begin(), cache.raw_nodes().end());
  };
  EXPECT_EQ(filled(2), filled(1));
}

}  // namespace
}  // namespace curnm
