#include "curnm/nn/kept_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "curnm/base/rng.h"

namespace curnm {
namespace {

/// Rows that say which key and version they were made for.
struct Maker {
  std::vector<Tensor> operator()(std::span<const std::int64_t> keys,
                                 std::span<const std::int64_t> versions,
                                 std::span<const std::int64_t> missing) {
    const auto count = static_cast<std::int64_t>(missing.size());
    made += count;
    Tensor narrow = at::empty({count, 2});
    Tensor wide = at::empty({count, 5});
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(missing[static_cast<std::size_t>(i)]);
      narrow[i].fill_(static_cast<float>(keys[at]));
      wide[i].fill_(static_cast<float>(versions[at]));
    }
    return {narrow, Tensor(), wide};
  }
  std::int64_t made = 0;
};

class KeptRowsTest : public ::testing::Test {
 protected:
  /// Looks for the keys and checks what comes.
  static void expect_found(KeptRows& kept, Maker& maker, const std::vector<std::int64_t>& keys,
                           const std::vector<std::int64_t>& versions) {
    const auto found = kept.find(keys, versions, [&](std::span<const std::int64_t> missing) {
      return maker(keys, versions, missing);
    });
    ASSERT_EQ(found.rows.size(), keys.size());
    ASSERT_EQ(found.tables.size(), 3U);
    EXPECT_FALSE(found.tables[1].defined());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(found.tables[0][found.rows[i]][1].item<float>(), static_cast<float>(keys[i]));
      EXPECT_EQ(found.tables[2][found.rows[i]][4].item<float>(), static_cast<float>(versions[i]));
    }
  }
};

TEST_F(KeptRowsTest, OnlyWhatIsMissingOrOldIsComputed) {
  KeptRows kept(100);
  Maker maker;
  expect_found(kept, maker, {7, 3, 99}, {0, 1, 2});
  EXPECT_EQ(maker.made, 3);
  expect_found(kept, maker, {3, 7, 99}, {1, 0, 2});
  EXPECT_EQ(maker.made, 3);
  expect_found(kept, maker, {3, 50, 7}, {2, 0, 0});
  EXPECT_EQ(maker.made, 5);
  expect_found(kept, maker, {3}, {1});  // back to an old version: computed again
  EXPECT_EQ(maker.made, 6);
}

TEST_F(KeptRowsTest, WhatWasFoundStaysWhileMoreIsAddedAndDropped) {
  constexpr std::int64_t kRowBytes = 7 * 4;
  KeptRows kept(1000, /*most_bytes=*/20 * kRowBytes);
  Maker maker;
  const std::vector<std::int64_t> keys = {1, 2, 3};
  const std::vector<std::int64_t> versions = {5, 5, 5};
  const auto first = kept.find(keys, versions, [&](std::span<const std::int64_t> missing) {
    return maker(keys, versions, missing);
  });
  Rng rng(1, Stream::kTest);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::int64_t> some;
    for (std::int64_t key = 0; key < 1000; ++key) {
      if (rng.below(1000) < 10) some.push_back(key);
    }
    if (some.empty()) continue;
    expect_found(kept, maker, some, std::vector<std::int64_t>(some.size(), 5));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(first.tables[0][first.rows[i]][0].item<float>(), static_cast<float>(keys[i]));
  }
  // More at once than may be kept.
  std::vector<std::int64_t> all(1000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  expect_found(kept, maker, all, std::vector<std::int64_t>(all.size(), 6));
}

TEST_F(KeptRowsTest, ARowThatCouldNotBeComputedIsNotKept) {
  KeptRows kept(10);
  const std::vector<std::int64_t> keys = {1, 2};
  const std::vector<std::int64_t> versions = {0, 0};
  EXPECT_THROW(kept.find(keys, versions,
                         [](std::span<const std::int64_t>) -> std::vector<Tensor> {
                           throw std::runtime_error("no memory");
                         }),
               std::runtime_error);
  Maker maker;
  expect_found(kept, maker, keys, versions);
  EXPECT_EQ(maker.made, 2);
}

}  // namespace
}  // namespace curnm
