#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/base/types.h"
#include "support/scoped_threads.h"

// What tests of kernels share: random arrays, and comparison with naive loops in double.

namespace curnm::testing {

using Doubles = std::vector<double>;
using Arrays = std::vector<Doubles>;  // the results of a kernel, or of a naive loop

inline Doubles as_doubles(std::span<const float> values) { return {values.begin(), values.end()}; }

/// Random arrays, each a function of the seed and of what was drawn before.
class ArraySource {
 public:
  enum class Values {
    kOrdinary,   // uniform over [-1, 1)
    kNotFinite,  // the same, with a NaN or an infinity here and there
  };

  explicit ArraySource(std::uint64_t seed, Values values = Values::kOrdinary)
      : rng_(seed, Stream::kTest), values_(values) {}

  std::vector<float> floats(std::int64_t n) {
    const Doubles values = doubles(n);
    return {values.begin(), values.end()};
  }
  Doubles doubles(std::int64_t n) {
    Doubles values(index(n));
    for (double& value : values) value = number();
    return values;
  }
  /// n rows of a table. REQUIRES: rows > 0.
  std::vector<std::int64_t> rows(std::int64_t n, std::int64_t rows) {
    std::vector<std::int64_t> drawn(index(n));
    for (std::int64_t& row : drawn) {
      row = static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(rows)));
    }
    return drawn;
  }
  /// 0 .. n-1 in random order.
  std::vector<std::int64_t> permutation(std::int64_t n) {
    std::vector<std::int64_t> order(index(n));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::size_t other = rng_.below(static_cast<std::uint64_t>(i) + 1);
      order[index(i)] = order[other];
      order[other] = i;
    }
    return order;
  }

 private:
  double number() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double usual = 2 * rng_.uniform() - 1;
    if (values_ == Values::kOrdinary || rng_.below(30) > 0) return usual;
    return std::vector{std::nan(""), kInfinity, -kInfinity}[rng_.below(3)];
  }

  Rng rng_;
  Values values_;
};

/// Equal up to `tolerance` of the largest expected number, or of 1 where all are smaller; NaN and
/// infinities where they are expected.
inline ::testing::AssertionResult near(const Doubles& actual, const Doubles& expected,
                                       double tolerance = 1e-5) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure() << actual.size() << " values, not " << expected.size();
  }
  double scale = 1;
  for (const double value : expected) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const bool same =
        std::isfinite(expected[i])
            ? std::abs(actual[i] - expected[i]) <= tolerance * scale
            : actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]));
    if (!same) {
      return ::testing::AssertionFailure()
             << "value " << i << " is " << actual[i] << ", not " << expected[i];
    }
  }
  return ::testing::AssertionSuccess();
}

/// The result of `compute`, which must be the same to the bit for one, two and three threads. (All
/// NaNs count as equal: which of two NaNs a sum propagates is up to the compiler.)
template <class Compute>
Arrays for_any_threads(const Compute& compute) {
  const auto with_threads = [&](int threads) {
    const ScopedThreads scope(threads);
    return compute();
  };
  const Arrays expected = with_threads(1);
  for (const int threads : {2, 3}) {
    const Arrays other = with_threads(threads);
    EXPECT_EQ(other.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(near(other[i], expected[i], /*tolerance=*/0))
          << "array " << i << ", " << threads << " threads";
    }
  }
  return expected;
}

/// Expects that a kernel computes what the naive loops do, with any number of threads.
template <class Compute>
void expect_arrays(const Compute& compute, const Arrays& naive, double tolerance = 1e-5) {
  const Arrays actual = for_any_threads(compute);
  ASSERT_EQ(actual.size(), naive.size());
  for (std::size_t i = 0; i < naive.size(); ++i) {
    EXPECT_TRUE(near(actual[i], naive[i], tolerance)) << "array " << i;
  }
}

/// Calls test(rows, width, source) for the shapes that vector code gets wrong first: no row, one,
/// enough of them for several threads; widths around those of vectors. Once with ordinary numbers,
/// once with some that are not finite.
template <class Test>
void for_each_shape(const Test& test) {
  for (const auto values : {ArraySource::Values::kOrdinary, ArraySource::Values::kNotFinite}) {
    for (const std::int64_t rows : {0, 1, 5, 301}) {
      for (const std::int64_t width : {1, 3, 4, 7, 8, 13, 16, 19, 37}) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " x " << width
                     << (values == ArraySource::Values::kOrdinary ? "" : ", not all finite"));
        ArraySource source(static_cast<std::uint64_t>(rows * 100 + width), values);
        test(rows, width, source);
      }
    }
  }
}

}  // namespace curnm::testing
