#include "curnm/base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "support/chi_square.h"

namespace curnm {
namespace {

using testing::equally_frequent;

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

std::vector<std::uint64_t> draws(Rng rng, int count) {
  std::vector<std::uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(rng.next());
  return values;
}

// Recorded from a second implementation of the published recipe. Stored runs depend on these
// numbers: a change here is a change of every result, not a refactoring.
TEST(RngTest, DrawsAreThoseOfEarlierVersions) {
  using Values = std::vector<std::uint64_t>;
  EXPECT_EQ(draws(Rng(0, Stream::kTest), 4), (Values{0xc1be9c22af30a282, 0x0f58a4800320e24b,
                                                     0x2327dbc3e3be2264, 0x8882be9b0b181f86}));
  EXPECT_EQ(draws(Rng(2020, Stream::kSplit), 4), (Values{0xd58d3b33d8d7b1f1, 0x5cad887f4212f5dc,
                                                         0x3cbb932545780276, 0x19eb4ffdd9f145ed}));
  EXPECT_EQ(
      draws(Rng(7, Stream::kNeighbors, 3, 11), 4),
      (Values{0xab7412c2fc8642ff, 0x0d6e7bd6e85ae65a, 0xb254391ac6135a87, 0x637b1271f982a871}));
  EXPECT_EQ(
      draws(Rng(7, Stream::kNeighbors, 3, 11).split(5), 4),
      (Values{0xfb3629d34df40f6e, 0xd19a22de87ede076, 0xaa6d65d5ead823d6, 0x5464d2ac5819a290}));
}

TEST(RngTest, DerivedDrawsAreThoseOfEarlierVersions) {
  Rng small(42, Stream::kEvaluation);
  for (std::uint64_t expected : {5, 9, 0, 6, 0, 8, 0, 3, 0, 2, 3, 6, 6, 8, 3, 3}) {
    EXPECT_EQ(small.below(10), expected);
  }
  Rng large(42, Stream::kEvaluation);  // rejects a quarter of the raw draws
  for (std::uint64_t expected :
       {0x71d50a3330b01503u, 0xba51cafe51b5bdecu, 0x09ee6627b132a6c5u, 0x0ae92e21ed566548u}) {
    EXPECT_EQ(large.below(std::uint64_t{3} << 62), expected);
  }
  Rng real(42, Stream::kSynthetic);
  for (double expected :
       {0x1.af694f0c6755bp-1, 0x1.59f17e7191c08p-4, 0x1.1e7ba6343bde0p-5, 0x1.7f8dab1e3bb58p-4}) {
    EXPECT_EQ(real.uniform(), expected);
  }
}

TEST(RngTest, StreamNumbersAreFixed) {
  EXPECT_EQ(static_cast<int>(Stream::kTest), 0);
  EXPECT_EQ(static_cast<int>(Stream::kSplit), 1);
  EXPECT_EQ(static_cast<int>(Stream::kNeighbors), 2);
  EXPECT_EQ(static_cast<int>(Stream::kHistory), 3);
  EXPECT_EQ(static_cast<int>(Stream::kEvaluation), 4);
  EXPECT_EQ(static_cast<int>(Stream::kSynthetic), 5);
  EXPECT_EQ(static_cast<int>(Stream::kBenchmark), 6);
  EXPECT_EQ(static_cast<int>(Stream::kInitialisation), 7);
  EXPECT_EQ(static_cast<int>(Stream::kRandomFeatures), 8);
  EXPECT_EQ(static_cast<int>(Stream::kRanking), 11);
  EXPECT_EQ(static_cast<int>(Stream::kEvaluationNeighbors), 12);
  EXPECT_EQ(static_cast<int>(Stream::kPositives), 13);
  EXPECT_EQ(static_cast<int>(Stream::kHardCache), 14);
  EXPECT_EQ(static_cast<int>(Stream::kTuning), 15);
  EXPECT_EQ(static_cast<int>(Stream::kBatchBoundaries), 16);
  EXPECT_EQ(static_cast<int>(Stream::kCandidates), 17);
  EXPECT_EQ(static_cast<int>(Stream::kTrainingNeighbors), 18);
  EXPECT_EQ(static_cast<int>(Stream::kDropout), 19);
}

TEST(RngTest, SameKeyGivesTheSameDraws) {
  EXPECT_EQ(draws(Rng(3, Stream::kHistory, 4, 5), 100), draws(Rng(3, Stream::kHistory, 4, 5), 100));
  EXPECT_EQ(draws(Rng(3, Stream::kHistory), 10), draws(Rng(3, Stream::kHistory, 0, 0), 10));
}

// 10^4 neighbouring keys, 4 draws each: an accidental repeat among 64-bit draws has probability
// 4e-11, so any repeat means that two keys share numbers.
TEST(RngTest, EveryPartOfTheKeyMatters) {
  std::set<std::uint64_t> seen;
  std::size_t total = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (Stream stream : {Stream::kTest, Stream::kSplit, Stream::kNeighbors, Stream::kHistory,
                          Stream::kEvaluation, Stream::kSynthetic, Stream::kBenchmark}) {
      for (std::uint64_t epoch = 0; epoch < 12; ++epoch) {
        for (std::uint64_t row = 0; row < 12; ++row) {
          const auto values = draws(Rng(seed, stream, epoch, row), 4);
          seen.insert(values.begin(), values.end());
          total += values.size();
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), total);
}

// The first draw of consecutive keys must look as random as consecutive draws of one key: rows are
// numbered 0, 1, 2 ... and mostly draw once or twice.
TEST(RngTest, FirstDrawsOfConsecutiveKeysAreUniform) {
  constexpr std::uint64_t kKeys = 16000;
  const std::array<Rng (*)(std::uint64_t), 4> by = {
      [](std::uint64_t i) { return Rng(i, Stream::kTest); },
      [](std::uint64_t i) { return Rng(1, Stream::kTest, i); },
      [](std::uint64_t i) { return Rng(1, Stream::kTest, 0, i); },
      [](std::uint64_t i) { return Rng(1, Stream::kTest).split(i); }};
  for (const auto& make : by) {
    std::vector<std::int64_t> high(64);
    std::vector<std::int64_t> low(64);
    std::vector<std::int64_t> change(64);  // between neighbours: would show a linear sequence
    std::uint64_t previous = make(kKeys).next();
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const std::uint64_t value = make(i).next();
      ++high[value >> 58];
      ++low[value & 63];
      ++change[(value - previous) >> 58];
      previous = value;
    }
    EXPECT_TRUE(equally_frequent(high));
    EXPECT_TRUE(equally_frequent(low));
    EXPECT_TRUE(equally_frequent(change));
  }
}

TEST(RngTest, EveryBitIsFair) {
  constexpr int kDraws = 20000;
  Rng rng(5, Stream::kTest);
  std::array<int, 64> ones{};
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t value = rng.next();
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(value >> bit & 1);
  }
  // Standard deviation 71; 5 of them.
  for (int count : ones) EXPECT_NEAR(count, kDraws / 2, 355);
}

TEST(RngTest, BelowIsUniform) {
  for (std::uint64_t n : {2, 3, 5, 6, 7, 10, 64, 100, 255}) {
    Rng rng(n, Stream::kTest);
    std::vector<std::int64_t> counts(n);
    for (std::uint64_t i = 0; i < 400 * n; ++i) {
      const std::uint64_t value = rng.below(n);
      ASSERT_LT(value, n);
      ++counts[value];
    }
    EXPECT_TRUE(equally_frequent(counts)) << "n = " << n;
  }
}

// With n = 3·2^62 a generator that skips the rejection favours one residue (1/2 : 1/4 : 1/4), and
// one that takes the remainder favours the lowest third (1/2 : 1/4 : 1/4).
TEST(RngTest, BelowIsExactForHugeRanges) {
  constexpr std::uint64_t kN = std::uint64_t{3} << 62;
  Rng rng(8, Stream::kTest);
  std::vector<std::int64_t> residues(3);
  std::vector<std::int64_t> thirds(3);
  for (int i = 0; i < 6000; ++i) {
    const std::uint64_t value = rng.below(kN);
    ASSERT_LT(value, kN);
    ++residues[value % 3];
    ++thirds[value >> 62];
  }
  EXPECT_TRUE(equally_frequent(residues));
  EXPECT_TRUE(equally_frequent(thirds));
}

TEST(RngTest, BelowStaysInRange) {
  Rng rng(9, Stream::kTest);
  for (int bit = 1; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (std::uint64_t n : {power - 1, power, power + 1, kLargest - power + 1, kLargest}) {
      for (int i = 0; i < 50; ++i) ASSERT_LT(rng.below(n), n);
    }
  }
  for (int i = 0; i < 50; ++i) ASSERT_EQ(rng.below(1), 0u);
}

TEST(RngTest, UniformIsUniformOverTheUnitInterval) {
  constexpr int kDraws = 40000;
  Rng rng(10, Stream::kTest);
  std::vector<std::int64_t> slices(100);
  bool full_precision = false;
  for (int i = 0; i < kDraws; ++i) {
    const double value = rng.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    ++slices[static_cast<std::size_t>(value * 100)];
    const double scaled = std::ldexp(value, 53);
    ASSERT_EQ(scaled, std::floor(scaled));
    full_precision |= std::fmod(scaled, 2.0) == 1.0;
  }
  EXPECT_TRUE(full_precision) << "the 53rd bit is never set";
  EXPECT_TRUE(equally_frequent(slices));
}

TEST(RngTest, SplittingDoesNotAdvance) {
  Rng rng(11, Stream::kTest);
  Rng untouched = rng;
  for (std::uint64_t i = 0; i < 10; ++i) rng.split(i).next();
  EXPECT_EQ(draws(rng, 10), draws(untouched, 10));
}

// The children of a generator, their children and the generator itself share no number.
TEST(RngTest, SplitsAreIndependentOfEachOtherAndOfTheirParent) {
  const Rng parent(12, Stream::kTest);
  EXPECT_EQ(draws(parent.split(3), 10), draws(parent.split(3), 10));
  const auto own = draws(parent, 2000);
  std::set<std::uint64_t> seen(own.begin(), own.end());
  std::size_t total = own.size();
  const auto add = [&](const Rng& rng) {
    const auto values = draws(rng, 50);
    seen.insert(values.begin(), values.end());
    total += values.size();
  };
  for (std::uint64_t i = 0; i < 60; ++i) {
    add(parent.split(i));
    for (std::uint64_t j = 0; j < 10; ++j) add(parent.split(i).split(j));
  }
  EXPECT_EQ(seen.size(), total);
}

// Parallel draws of two children agree in half of their bits: 64 000 fair coins, standard deviation
// 126, tolerance 5 of them.
TEST(RngTest, SplitsAreUncorrelated) {
  const Rng parent(13, Stream::kTest);
  for (std::uint64_t child = 1; child < 20; ++child) {
    Rng a = parent.split(child - 1);
    Rng b = parent.split(child);
    int different = 0;
    for (int i = 0; i < 1000; ++i) different += std::popcount(a.next() ^ b.next());
    EXPECT_NEAR(different, 32000, 630);
  }
}

TEST(RngTest, WorksAtCompileTime) {
  constexpr std::uint64_t kFirst = [] {
    Rng rng(0, Stream::kTest);
    return rng.next();
  }();
  static_assert(kFirst == 0xc1be9c22af30a282);
}

}  // namespace
}  // namespace curnm
