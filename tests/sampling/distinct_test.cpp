#include "curnm/sampling/distinct.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <vector>

#include "support/chi_square.h"

namespace curnm {
namespace {

using testing::equally_frequent;
using testing::equally_included;

using Numbers = std::vector<std::int64_t>;

template <class Allowed>
Numbers draw(std::int64_t begin, std::int64_t end, std::int64_t k, Rng& rng, DrawScratch& scratch,
             const Allowed& allowed) {
  Numbers drawn;
  const std::int64_t count = draw_distinct(begin, end, k, rng, scratch, allowed,
                                           [&](std::int64_t i) { drawn.push_back(i); });
  EXPECT_EQ(count, static_cast<std::int64_t>(drawn.size()));
  return drawn;
}

bool anything(std::int64_t) { return true; }
bool nothing(std::int64_t) { return false; }

// Against std::set, through many lives of one set with capacities on both sides of every threshold.
TEST(TakenSetTest, BehavesLikeASetThroughManyLives) {
  Rng rng(1, Stream::kTest);
  TakenSet taken;
  for (int life = 0; life < 3000; ++life) {
    constexpr std::array<std::int64_t, 9> kCapacities = {0, 1, 5, 16, 17, 20, 40, 100, 17};
    const std::int64_t capacity = kCapacities[rng.below(kCapacities.size())];
    const std::uint64_t range = rng.below(2) == 0 ? 60 : std::uint64_t{1} << 40;
    taken.reset(capacity);
    std::set<std::int64_t> model;
    for (std::int64_t i = 0; i < capacity; ++i) {
      const auto value = static_cast<std::int64_t>(rng.below(range));
      ASSERT_EQ(taken.contains(value), model.contains(value)) << "life " << life;
      ASSERT_EQ(taken.insert(value), model.insert(value).second) << "life " << life;
    }
    for (std::int64_t value = 0; value < 60; ++value) {
      ASSERT_EQ(taken.contains(value), model.contains(value)) << "life " << life;
    }
    for (std::int64_t value : model) ASSERT_TRUE(taken.contains(value)) << "life " << life;
  }
}

TEST(DrawDistinctTest, DrawsAllowedNumbersOnceAndAsManyAsThereAre) {
  Rng rng(2, Stream::kTest);
  DrawScratch scratch;
  for (std::int64_t n : {1, 2, 3, 10, 33, 34, 41, 200}) {
    for (std::int64_t k : {1, 2, 5, 16, 17, 20, 100, 300}) {
      for (std::int64_t keep_every : {1, 2, 7, 50}) {
        const std::int64_t begin = static_cast<std::int64_t>(rng.below(1000));
        const auto allowed = [&](std::int64_t i) { return (i - begin) % keep_every == 0; };
        const Numbers drawn = draw(begin, begin + n, k, rng, scratch, allowed);
        const std::int64_t available = (n - 1) / keep_every + 1;
        ASSERT_EQ(static_cast<std::int64_t>(drawn.size()), std::min(k, available));
        ASSERT_EQ(std::set(drawn.begin(), drawn.end()).size(), drawn.size());
        for (std::int64_t i : drawn) {
          ASSERT_GE(i, begin);
          ASSERT_LT(i, begin + n);
          ASSERT_TRUE(allowed(i));
        }
      }
    }
  }
}

TEST(DrawDistinctTest, NothingToDraw) {
  Rng rng(3, Stream::kTest);
  DrawScratch scratch;
  EXPECT_EQ(draw(0, 0, 5, rng, scratch, anything), Numbers{});
  EXPECT_EQ(draw(7, 3, 5, rng, scratch, anything), Numbers{});
  EXPECT_EQ(draw(0, 10, 0, rng, scratch, anything), Numbers{});
  EXPECT_EQ(draw(0, 10, -1, rng, scratch, anything), Numbers{});
}

// A wholly forbidden range is looked through about once: at most twice its length and 10 k tries.
TEST(DrawDistinctTest, EverythingForbiddenEndsQuickly) {
  Rng rng(4, Stream::kTest);
  DrawScratch scratch;
  for (std::int64_t n : {1, 10, 1000, 100000}) {
    for (std::int64_t k : {1, 20, 1000}) {
      std::int64_t questions = 0;
      const Numbers drawn = draw(0, n, k, rng, scratch, [&](std::int64_t i) {
        ++questions;
        return nothing(i);
      });
      EXPECT_EQ(drawn, Numbers{});
      EXPECT_LE(questions, 2 * n + 10 * k + 100);
    }
  }
}

TEST(DrawDistinctTest, ALargeFreeRangeIsNotLookedThrough) {
  Rng rng(5, Stream::kTest);
  DrawScratch scratch;
  std::int64_t questions = 0;
  const Numbers drawn = draw(0, std::int64_t{1} << 40, 20, rng, scratch, [&](std::int64_t i) {
    ++questions;
    return i % 2 == 0;
  });
  EXPECT_EQ(drawn.size(), 20u);
  EXPECT_LE(questions, 300);
}

struct Shape {
  const char* what;
  std::int64_t n;
  std::int64_t keep_every;  // allowed: multiples of this
  std::int64_t k;

  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.what;
  }
};

class DrawDistinctUniformTest : public ::testing::TestWithParam<Shape> {};

// Every ordered choice of k of the allowed numbers is equally likely: about 200 draws per choice.
TEST_P(DrawDistinctUniformTest, OverOrderedChoices) {
  const auto [what, n, keep_every, k] = GetParam();
  const std::int64_t available = (n - 1) / keep_every + 1;
  std::int64_t choices = 1;
  for (std::int64_t i = 0; i < k; ++i) choices *= available - i;
  Rng rng(6, Stream::kTest, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(k));
  DrawScratch scratch;
  std::map<Numbers, std::int64_t> frequency;
  for (std::int64_t i = 0; i < 200 * choices; ++i) {
    ++frequency[draw(0, n, k, rng, scratch,
                     [&](std::int64_t x) { return x % GetParam().keep_every == 0; })];
  }
  ASSERT_EQ(static_cast<std::int64_t>(frequency.size()), choices);
  std::vector<std::int64_t> counts;
  for (const auto& [choice, count] : frequency) counts.push_back(count);
  EXPECT_TRUE(equally_frequent(counts)) << what;
}

INSTANTIATE_TEST_SUITE_P(Shapes, DrawDistinctUniformTest,
                         ::testing::Values(Shape{"enumerated", 5, 1, 3},
                                           Shape{"enumerated, some forbidden", 9, 2, 3},
                                           Shape{"rejection", 11, 1, 2},
                                           Shape{"rejection, some forbidden", 20, 4, 3},
                                           Shape{"tries run out in the middle", 300, 60, 2},
                                           Shape{"all of them", 900, 225, 4}));

// Larger draws, where the taken numbers are hashed. One scratch serves all.
TEST(DrawDistinctTest, LargeDrawsAreUniformToo) {
  constexpr std::int64_t kTrials = 3000;
  for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {60, 20}, {30, 17}, {300, 120}, {100, 60}}) {
    Rng rng(7, Stream::kTest, static_cast<std::uint64_t>(n));
    DrawScratch scratch;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n));
    for (std::int64_t trial = 0; trial < kTrials; ++trial) {
      const Numbers drawn = draw(0, n, k, rng, scratch, anything);
      ASSERT_EQ(std::set(drawn.begin(), drawn.end()).size(), static_cast<std::size_t>(k));
      for (std::int64_t i : drawn) ++counts[static_cast<std::size_t>(i)];
    }
    EXPECT_TRUE(equally_included(counts, kTrials, k)) << k << " of " << n;
  }
}

TEST(DrawDistinctTest, UsedScratchDrawsAsFreshOne) {
  DrawScratch used;
  Rng shape(8, Stream::kTest);
  for (std::uint64_t round = 0; round < 2000; ++round) {
    const auto n = static_cast<std::int64_t>(1 + shape.below(90));
    const auto k = static_cast<std::int64_t>(1 + shape.below(40));
    const auto allowed = [&](std::int64_t i) { return i % 3 != 0; };
    Rng rng(round, Stream::kTest);
    Rng same(round, Stream::kTest);
    DrawScratch fresh;
    ASSERT_EQ(draw(0, n, k, rng, used, allowed), draw(0, n, k, same, fresh, allowed))
        << "round " << round << ", " << k << " of " << n;
  }
}

}  // namespace
}  // namespace curnm
