#include "curnm/base/distinct_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "curnm/base/rng.h"

namespace curnm {
namespace {

using Keys = std::vector<std::int64_t>;

Keys keys_of(const DistinctRows& rows) { return {rows.keys().begin(), rows.keys().end()}; }

TEST(DistinctRows, NumbersKeysAsTheyCome) {
  DistinctRows rows(10);
  EXPECT_EQ(rows.row(7), 0);
  EXPECT_EQ(rows.row(0), 1);
  EXPECT_EQ(rows.row(7), 0);
  EXPECT_EQ(rows.row(9), 2);
  EXPECT_EQ(rows.size(), 3);
  EXPECT_EQ(keys_of(rows), (Keys{7, 0, 9}));
}

TEST(DistinctRows, ACopyGoesItsOwnWay) {
  DistinctRows rows(10);
  rows.row(3);
  rows.row(5);
  DistinctRows copy = rows;
  EXPECT_EQ(copy.row(5), 1);
  EXPECT_EQ(copy.row(8), 2);
  EXPECT_EQ(rows.row(1), 2);
  EXPECT_EQ(keys_of(rows), (Keys{3, 5, 1}));
  EXPECT_EQ(keys_of(copy), (Keys{3, 5, 8}));
}

// Tables are used again: whatever was in them, in any order and size, must be gone.
TEST(DistinctRows, NothingIsLeftOfEarlierOnes) {
  Rng rng(5, Stream::kTest);
  const auto some = [&](std::int64_t most) {
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most)));
  };
  std::vector<std::unique_ptr<DistinctRows>> alive;
  for (int round = 0; round < 1000; ++round) {
    const std::int64_t num_keys = 1 + some(round % 7 == 0 ? 5000 : 50);
    DistinctRows& rows = *alive.emplace_back(std::make_unique<DistinctRows>(num_keys));
    std::map<std::int64_t, std::int64_t> expected;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t key = some(num_keys);
      const std::int64_t row = expected.emplace(key, std::ssize(expected)).first->second;
      ASSERT_EQ(rows.row(key), row) << "round " << round;
    }
    if (alive.size() > 3) alive.erase(alive.begin() + some(4));
  }
}

}  // namespace
}  // namespace curnm
