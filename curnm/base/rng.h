#pragma once

#include <cstdint>

#include "curnm/base/types.h"

namespace curnm {

/// What a draw is for. Each stream is independent of the others, so a new consumer of randomness
/// never shifts the draws of an old one. Append only: the numbers are part of reproducibility.
enum class Stream : std::uint64_t {
  kTest = 0,
  kSplit = 1,
  kNeighbors = 2,
  kHistory = 3,
  kEvaluation = 4,
  kSynthetic = 5,
  kBenchmark = 6,
  kInitialisation = 7,
  kRandomFeatures = 8,
  // 9 and 10 were once in use.
  kRanking = 11,
  kEvaluationNeighbors = 12,
  kPositives = 13,
  kHardCache = 14,
  kTuning = 15,
  kBatchBoundaries = 16,
  kCandidates = 17,         // by event
  kTrainingNeighbors = 18,  // by node and time
  kDropout = 19,            // by node and time
  kTypicalLinks = 20,       // by event
  kWalkSketch = 21,         // by node
  kFittedRules = 22,        // by event
  kRankingNegatives = 23,   // by event
};

/// Counter-based generator: draw i of a key is a pure function of (key, i), and a key is a pure
/// function of (seed, stream, epoch, row). Row r always gets the same numbers, independent of
/// thread count, batch size and order of work. There is no global generator.
///
/// Draw i is SplitMix64's output function applied to key + i·golden (Steele, Lea, Flood 2014).
class Rng {
 public:
  constexpr Rng(std::uint64_t seed, Stream stream, std::uint64_t epoch = 0, std::uint64_t row = 0)
      : state_(combine(
            combine(combine(mix(seed + kGolden), static_cast<std::uint64_t>(stream)), epoch),
            row)) {}

  /// An independent generator for part `index` of this one's work. Does not advance this one.
  constexpr Rng split(std::uint64_t index) const { return Rng(combine(state_, index)); }

  constexpr std::uint64_t next() { return mix(state_ += kGolden); }

  /// Exactly uniform over 0 .. n-1. REQUIRES: n > 0.
  /// Multiply-and-reject (Lemire 2019): no division unless a rejection is possible.
  constexpr std::uint64_t below(std::uint64_t n) {
    Wide product = static_cast<Wide>(next()) * n;
    if (static_cast<std::uint64_t>(product) < n) [[unlikely]] {
      const std::uint64_t threshold = -n % n;
      while (static_cast<std::uint64_t>(product) < threshold) {
        product = static_cast<Wide>(next()) * n;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Uniform over [0, 1) with 53 random bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

  constexpr explicit Rng(std::uint64_t state) : state_(state) {}

  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // The odd multiplier keeps (a, b) and (b, a) apart.
  static constexpr std::uint64_t combine(std::uint64_t key, std::uint64_t part) {
    return mix(key * 0xd1342543de82ef95 + mix(part + kGolden));
  }

  std::uint64_t state_;
};

}  // namespace curnm
