#include "curnm/sampling/event_draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/chi_square.h"

namespace curnm {
namespace {

using testing::equally_frequent;
using testing::equally_included;

using Numbers = std::vector<std::int64_t>;

const Rng kKey(5, Stream::kTest);

/// The first `count` elements, asked for one after the other.
Numbers first_of(RandomOrder& order, std::int64_t count) {
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(order.at(i));
  return numbers;
}

Numbers order_of(std::int64_t n, std::uint64_t key) {
  RandomOrder order;
  order.restart(n, kKey.split(key));
  return first_of(order, n);
}

TEST(RandomOrderTest, IsAPermutation) {
  for (const std::int64_t n : {1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129, 1000, 5000}) {
    for (std::uint64_t key = 0; key < 20; ++key) {
      Numbers numbers = order_of(n, key);
      std::sort(numbers.begin(), numbers.end());
      Numbers all(static_cast<std::size_t>(n));
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(numbers, all) << n;
    }
  }
}

TEST(RandomOrderTest, IsAFunctionOfItsKey) {
  EXPECT_EQ(order_of(100, 1), order_of(100, 1));
  EXPECT_NE(order_of(100, 1), order_of(100, 2));
}

// However far it was asked for before, and whatever the object was used for.
TEST(RandomOrderTest, HowItIsAskedChangesNothing) {
  const Numbers expected = order_of(200, 3);
  RandomOrder order;
  for (const std::int64_t used : {0, 1, 20, 150, 200}) {
    order.restart(200, kKey.split(9));
    first_of(order, used);
    order.restart(200, kKey.split(3));
    EXPECT_EQ(order.size(), 200);
    EXPECT_EQ(order.at(120), expected[120]) << "a jump";
    EXPECT_EQ(order.at(7), expected[7]) << "and back";
    EXPECT_EQ(first_of(order, 200), expected);
  }
  order.restart(3, kKey.split(3));
  EXPECT_EQ(first_of(order, 3), order_of(3, 3)) << "a smaller one after a larger one";
}

// All 24 orders of four: 24000 draws, tolerance in equally_frequent.
TEST(RandomOrderTest, AllOrdersAreEquallyLikely) {
  std::vector<Numbers> orders;
  Numbers order = {0, 1, 2, 3};
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  std::vector<std::int64_t> counts(24);
  for (std::uint64_t key = 0; key < 24000; ++key) {
    const auto found = std::lower_bound(orders.begin(), orders.end(), order_of(4, key));
    ++counts[static_cast<std::size_t>(found - orders.begin())];
  }
  EXPECT_TRUE(equally_frequent(counts));
}

// Also where it grows its table (16) and where it begins to enumerate what is left (half).
TEST(RandomOrderTest, EveryPositionIsUniform) {
  constexpr std::int64_t kSize = 50;
  std::vector<std::vector<std::int64_t>> counts(kSize, std::vector<std::int64_t>(kSize));
  for (std::uint64_t key = 0; key < 5000; ++key) {
    const Numbers order = order_of(kSize, key);
    for (std::size_t i = 0; i < order.size(); ++i) {
      ++counts[i][static_cast<std::size_t>(order[i])];
    }
  }
  for (const std::size_t i : {0, 1, 15, 16, 17, 24, 25, 26, 40, 49}) {
    EXPECT_TRUE(equally_frequent(counts[i])) << "position " << i;
  }
}

TEST(RandomOrderTest, PrefixesAreUniformDrawsWithoutReplacement) {
  constexpr std::int64_t kTrials = 4000;
  for (const std::int64_t k : {1, 5, 20, 35}) {
    std::vector<std::int64_t> counts(40);
    for (std::uint64_t key = 0; key < kTrials; ++key) {
      RandomOrder order;
      order.restart(40, kKey.split(key));
      for (const std::int64_t value : first_of(order, k)) ++counts[static_cast<std::size_t>(value)];
    }
    EXPECT_TRUE(equally_included(counts, kTrials, k)) << k;
  }
}

// Whoever takes the first five that suit him draws uniformly from those that do.
TEST(RandomOrderTest, FilteredPrefixesAreUniformToo) {
  constexpr std::int64_t kTrials = 4000;
  const auto suits = [](std::int64_t value) { return value % 3 != 1 && value > 4; };
  std::vector<std::int64_t> counts;
  std::vector<std::size_t> place(40);
  for (std::int64_t value = 0; value < 40; ++value) {
    place[static_cast<std::size_t>(value)] = counts.size();
    if (suits(value)) counts.push_back(0);
  }
  for (std::uint64_t key = 0; key < kTrials; ++key) {
    RandomOrder order;
    order.restart(40, kKey.split(key));
    int found = 0;
    for (std::int64_t at = 0; found < 5; ++at) {
      const std::int64_t value = order.at(at);
      if (!suits(value)) continue;
      ++counts[place[static_cast<std::size_t>(value)]];
      ++found;
    }
  }
  EXPECT_TRUE(equally_included(counts, kTrials, 5));
}

TEST(EventDrawsTest, AreThoseOfTheEventWhateverWasDrawnBefore) {
  EventDraws fresh;
  fresh.restart(kKey, 12, 30);
  const Numbers expected = first_of(fresh.destinations(), 30);
  EventDraws used;
  used.restart(kKey, 4, 500);
  first_of(used.destinations(), 100);
  used.partners().below(7);
  used.restart(kKey, 12, 30);
  EXPECT_EQ(first_of(used.destinations(), 30), expected);
  EXPECT_EQ(used.partners().below(1'000'000), fresh.partners().below(1'000'000));
  EXPECT_EQ(used.other_source().below(1'000'000), fresh.other_source().below(1'000'000));
  used.restart(kKey, 13, 30);
  EXPECT_NE(first_of(used.destinations(), 30), expected);
  used.restart(kKey.split(1), 12, 30);
  EXPECT_NE(first_of(used.destinations(), 30), expected);
}

// What one purpose draws says nothing about another: 2000 events, pairs of draws in 5 x 5 bins.
TEST(EventDrawsTest, PurposesAreIndependent) {
  std::vector<std::int64_t> partners_and_source(25);
  std::vector<std::int64_t> partners_and_order(25);
  for (EventId e = 0; e < 2000; ++e) {
    EventDraws draws;
    draws.restart(kKey, e, 5);
    const auto partner = static_cast<std::size_t>(draws.partners().below(5));
    const auto source = static_cast<std::size_t>(draws.other_source().below(5));
    const auto first = static_cast<std::size_t>(draws.destinations().at(0));
    ++partners_and_source[5 * partner + source];
    ++partners_and_order[5 * partner + first];
  }
  EXPECT_TRUE(equally_frequent(partners_and_source));
  EXPECT_TRUE(equally_frequent(partners_and_order));
}

}  // namespace
}  // namespace curnm
