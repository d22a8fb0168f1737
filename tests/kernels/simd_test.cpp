#include "curnm/kernels/simd.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/arrays.h"

namespace curnm::kernels {
namespace {

using testing::ArraySource;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(SimdTest, ExpIsAccurateInItsRange) {
  for (double x = -87; x <= 88; x += 0.00137) {
    const auto argument = static_cast<float>(x);
    const double expected = std::exp(static_cast<double>(argument));
    EXPECT_NEAR(exp(argument) / expected, 1, 2e-7) << x;
  }
  EXPECT_EQ(exp(0.0F), 1.0F);
}

TEST(SimdTest, ExpStaysAtTheEndsOfItsRange) {
  for (const float x : {-87.5F, -1e4F, -std::numeric_limits<float>::max(), -kInfinity}) {
    EXPECT_EQ(exp(x), exp(-87.0F)) << x;
  }
  for (const float x : {88.5F, 1e4F, std::numeric_limits<float>::max(), kInfinity}) {
    EXPECT_EQ(exp(x), exp(88.0F)) << x;
  }
  EXPECT_EQ(exp(std::numeric_limits<float>::denorm_min()), 1.0F);
}

// Whatever the bits of a NaN are.
TEST(SimdTest, NaNGivesNaN) {
  for (const float nan : {kNaN, -kNaN, std::bit_cast<float>(0x7fffffffU)}) {
    EXPECT_TRUE(std::isnan(exp(nan)));
    EXPECT_TRUE(std::isnan(sigmoid(nan)));
    EXPECT_TRUE(std::isnan(tanh(nan)));
    EXPECT_TRUE(std::isnan(cosine(nan)));
    EXPECT_TRUE(std::isnan(sine(nan)));
  }
  EXPECT_TRUE(std::isnan(cosine(kInfinity)));
  EXPECT_TRUE(std::isnan(sine(-kInfinity)));
}

TEST(SimdTest, SigmoidAndTanhSaturate) {
  for (const float x : {-200.0F, -20.0F, -1.0F, 0.0F, 0.5F, 20.0F, 200.0F}) {
    EXPECT_NEAR(sigmoid(x), 1 / (1 + std::exp(-static_cast<double>(x))), 1e-6) << x;
    EXPECT_NEAR(tanh(x), std::tanh(static_cast<double>(x)), 1e-6) << x;
  }
  EXPECT_EQ(sigmoid(kInfinity), 1.0F);
  EXPECT_LT(sigmoid(-kInfinity), 1e-37F);
  EXPECT_EQ(tanh(kInfinity), 1.0F);
  EXPECT_EQ(tanh(-kInfinity), -1.0F);
}

TEST(SimdTest, DotProductsOfEveryLength) {
  for (const auto values : {ArraySource::Values::kOrdinary, ArraySource::Values::kNotFinite}) {
    for (std::int64_t n = 0; n < 70; ++n) {
      ArraySource source(static_cast<std::uint64_t>(n), values);
      const std::vector<float> a = source.floats(n);
      const std::vector<float> b = source.floats(n);
      DotSum sum;
      sum.add(a.data(), b.data(), n);
      sum.add(b.data(), b.data(), n / 2);
      double expected = 0;
      for (std::int64_t i = 0; i < n; ++i)
        expected += static_cast<double>(a[index(i)]) * b[index(i)];
      for (std::int64_t i = 0; i < n / 2; ++i) {
        expected += static_cast<double>(b[index(i)]) * b[index(i)];
      }
      EXPECT_TRUE(testing::near({sum.value()}, {expected})) << n;
    }
  }
}

TEST(SimdTest, ScaledSumsOfEveryLength) {
  for (const auto values : {ArraySource::Values::kOrdinary, ArraySource::Values::kNotFinite}) {
    for (std::int64_t n = 0; n < 40; ++n) {
      ArraySource source(static_cast<std::uint64_t>(n), values);
      const std::vector<float> x = source.floats(n);
      std::vector<float> y = source.floats(n);
      testing::Doubles expected = testing::as_doubles(y);
      for (std::int64_t i = 0; i < n; ++i) expected[index(i)] += 0.75 * x[index(i)];
      axpy(0.75F, x.data(), y.data(), n);
      EXPECT_TRUE(testing::near(testing::as_doubles(y), expected)) << n;
    }
  }
}

}  // namespace
}  // namespace curnm::kernels
