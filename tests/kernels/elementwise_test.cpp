#include "curnm/kernels/elementwise.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "support/arrays.h"

namespace curnm::kernels {
namespace {

using testing::Arrays;
using testing::ArraySource;
using testing::as_doubles;
using testing::Doubles;
using testing::expect_arrays;

/// With the limits of the kernel's e^x, which decide what becomes of 0 times infinity.
double naive_sigmoid(double x) { return 1 / (1 + std::exp(x < -88 ? 88 : (x > 87 ? -87 : -x))); }
double naive_tanh(double x) { return 2 * naive_sigmoid(2 * x) - 1; }

// Over all gaps that occur, up to a century in seconds.
TEST(ElementwiseTest, CosinesKeepThePhaseOfLongGaps) {
  std::vector<double> dt = {0, 1, -1, 0.5};
  for (double gap = 1e-3; gap < 4e9; gap *= 1.37) dt.push_back(gap);
  std::vector<double> frequency;
  for (int i = 0; i < 101; ++i) frequency.push_back(std::pow(10.0, -9.0 * i / 100));
  std::vector<float> out(dt.size() * frequency.size());
  cosines(dt, frequency, out.data(), std::ssize(frequency));
  for (std::size_t i = 0; i < dt.size(); ++i) {
    for (std::size_t j = 0; j < frequency.size(); ++j) {
      EXPECT_NEAR(out[i * frequency.size() + j], std::cos(dt[i] * frequency[j]), 1e-6)
          << dt[i] << " " << frequency[j];
    }
  }
}

TEST(ElementwiseTest, CosinesOfAbsurdGapsAreCosines) {
  std::vector<double> dt;
  for (double gap = 1e12; gap < 1e300; gap *= 1.7e7) dt.push_back(gap);
  std::vector<float> out(dt.size());
  cosines(dt, std::vector<double>{1}, out.data(), 1);
  for (std::size_t i = 0; i < dt.size(); ++i) EXPECT_LE(std::abs(out[i]), 1 + 1e-6) << dt[i];
}

TEST(ElementwiseTest, CosinesOfUsedSlotsOnly) {
  const std::vector<double> dt = {1, 2, 3, 4, 5, 6};
  const std::vector<double> frequency = {1, 0.5};
  std::vector<float> out(12, -7);
  cosines(dt, std::vector<std::int32_t>{2, 0, 1}, frequency, out.data());
  for (std::size_t slot = 0; slot < dt.size(); ++slot) {
    const bool used = slot == 0 || slot == 1 || slot == 4;
    for (std::size_t j = 0; j < 2; ++j) {
      EXPECT_NEAR(out[slot * 2 + j], used ? std::cos(dt[slot] * frequency[j]) : -7, 1e-6) << slot;
    }
  }
}

TEST(ElementwiseTest, Cosines) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::int64_t stride = width + 3;
    Doubles dt = source.doubles(rows);
    for (double& gap : dt) gap *= 1e6;
    const Doubles frequency = source.doubles(width);
    Doubles expected(index(rows * stride), -7);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        expected[index(i * stride + j)] = std::cos(dt[index(i)] * frequency[index(j)]);
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> out(expected.size(), -7);
      cosines(dt, frequency, out.data(), stride);
      return {as_doubles(out)};
    };
    expect_arrays(compute, {expected});
  });
}

TEST(ElementwiseTest, Sines) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    Doubles t = source.doubles(rows);
    for (double& time : t) time *= 100;
    const Doubles frequency = source.doubles(width);
    const Doubles phase = source.doubles(width);
    const std::vector<float> dout = source.floats(rows * width);
    Doubles out(dout.size());
    Doubles slope(dout.size());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        const double angle = t[index(i)] * frequency[index(j)] + phase[index(j)];
        out[index(i * width + j)] = j == 0 ? angle : std::sin(angle);
        slope[index(i * width + j)] = j == 0 ? 1 : std::cos(angle);
      }
    }
    Doubles dfrequency(frequency.size(), 0);
    Doubles dphase(phase.size(), 0);
    for (std::size_t at = 0; at < out.size(); ++at) {
      const std::size_t j = at % index(width);
      dphase[j] += dout[at] * slope[at];
      dfrequency[j] += dout[at] * slope[at] * t[at / index(width)];
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> sine(out.size());
      std::vector<float> cosine(out.size());
      Doubles to_frequency(frequency.size(), -7);
      Doubles to_phase(phase.size(), -7);
      sines(t, frequency, phase, sine.data(), cosine.data());
      sines_backward(t, cosine.data(), dout.data(), to_frequency, to_phase);
      return {as_doubles(sine), as_doubles(cosine), to_frequency, to_phase};
    };
    expect_arrays(compute, {out, slope, dfrequency, dphase});
  });
}

TEST(ElementwiseTest, SinesOfNoFrequencies) {
  const std::vector<double> t(5, 1);
  sines(t, {}, {}, nullptr, nullptr);
  sines_backward(t, nullptr, nullptr, {}, {});
}

TEST(ElementwiseTest, DropoutIsTheDrawsOfItsGenerator) {
  for (const std::int64_t n : {0, 1, 7, 1001}) {
    const Rng rng(3, Stream::kTest);
    std::vector<float> mask(index(n), -7);
    dropout(rng, /*rate=*/0.25, /*scale=*/2, mask);
    Rng naive = rng;
    for (const float value : mask) EXPECT_EQ(value, naive.uniform() < 0.25 ? 0.0F : 2.0F);
  }
}

TEST(ElementwiseTest, Gru) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::int64_t stride = width + 5;
    std::vector<float> in = source.floats(rows * 3 * width);
    for (float& value : in) value *= 5;
    const std::vector<float> hidden = source.floats(rows * width);
    const std::vector<float> h = source.floats(rows * stride);
    const GruInput input{.rows = rows,
                         .width = width,
                         .in = in.data(),
                         .hidden = hidden.data(),
                         .h = h.data(),
                         .h_stride = stride};
    Doubles gates(in.size());
    Doubles out(hidden.size());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        const std::size_t gate = index(i * 3 * width + d);
        const double reset = naive_sigmoid(in[gate]);
        const double update = naive_sigmoid(in[gate + index(width)]);
        const double fresh =
            naive_tanh(in[gate + index(2 * width)] + reset * hidden[index(i * width + d)]);
        gates[gate] = reset;
        gates[gate + index(width)] = update;
        gates[gate + index(2 * width)] = fresh;
        out[index(i * width + d)] = (1 - update) * fresh + update * h[index(i * stride + d)];
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> of_gates(gates.size());
      std::vector<float> result(out.size());
      gru(input, of_gates.data(), result.data());
      return {as_doubles(of_gates), as_doubles(result)};
    };
    expect_arrays(compute, {gates, out});
  });
}

TEST(ElementwiseTest, GruBackward) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::int64_t stride = width + 5;
    const std::vector<float> gates = source.floats(rows * 3 * width);
    const std::vector<float> hidden = source.floats(rows * width);
    const std::vector<float> h = source.floats(rows * stride);
    const std::vector<float> dout = source.floats(rows * width);
    const GruInput input{
        .rows = rows, .width = width, .hidden = hidden.data(), .h = h.data(), .h_stride = stride};
    Doubles din(gates.size());
    Doubles dhidden(hidden.size());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        const std::size_t at = index(i * width + d);
        const std::size_t gate = index(i * 3 * width + d);
        const double reset = gates[gate];
        const double update = gates[gate + index(width)];
        const double fresh = gates[gate + index(2 * width)];
        const double dfresh = dout[at] * (1 - update) * (1 - fresh * fresh);
        din[gate] = dfresh * hidden[at] * reset * (1 - reset);
        din[gate + index(width)] =
            dout[at] * (h[index(i * stride + d)] - fresh) * update * (1 - update);
        din[gate + index(2 * width)] = dfresh;
        dhidden[at] = dfresh * reset;
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> to_in(din.size());
      std::vector<float> to_hidden(dhidden.size());
      gru_backward(input, gates.data(), dout.data(), to_in.data(), to_hidden.data());
      return {as_doubles(to_in), as_doubles(to_hidden)};
    };
    expect_arrays(compute, {din, dhidden});
  });
}

class GatedTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Scale, GatedTest, ::testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "with" : "without");
});

TEST_P(GatedTest, MatchesTheFormula) {
  constexpr std::int64_t kContexts = 9;
  testing::for_each_shape([&](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::vector<float> context = source.floats(kContexts * width);
    const std::vector<float> own = source.floats(rows * width);
    const std::vector<float> h = source.floats(rows * width);
    const std::vector<float> scale = source.floats(rows * width);
    const std::vector<float> dout = source.floats(rows * width);
    const std::vector<float> given_gate = source.floats(rows * width);
    const std::vector<std::int64_t> owner = source.rows(rows, kContexts);
    const GatedInput input{.rows = rows,
                           .width = width,
                           .owner = owner,
                           .context = context.data(),
                           .own = own.data(),
                           .h = h.data(),
                           .scale = GetParam() ? scale.data() : nullptr};
    Doubles gate(own.size());
    Doubles out(own.size());
    Doubles dpre(own.size());
    Doubles dh(own.size());
    Doubles dscale(own.size());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        const std::size_t at = index(i * width + d);
        const double factor = GetParam() ? scale[at] : 1;
        gate[at] = naive_sigmoid(static_cast<double>(context[index(owner[index(i)] * width + d)]) +
                                 own[at]);
        out[at] = h[at] * gate[at] * factor;
        const double g = given_gate[at];
        dpre[at] = dout[at] * factor * h[at] * g * (1 - g);
        dh[at] = dout[at] * factor * g;
        dscale[at] = static_cast<double>(dout[at]) * h[at] * g;
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> of_gate(gate.size());
      std::vector<float> result(out.size());
      std::vector<float> to_pre(out.size());
      std::vector<float> to_h(out.size());
      std::vector<float> to_scale(out.size());
      std::vector<float> to_pre_alone(out.size());
      gated(input, of_gate.data(), result.data());
      gated_backward(input, given_gate.data(), dout.data(), to_pre.data(), to_h.data(),
                     to_scale.data());
      gated_backward(input, given_gate.data(), dout.data(), to_pre_alone.data(), nullptr, nullptr);
      return {as_doubles(of_gate), as_doubles(result),   as_doubles(to_pre),
              as_doubles(to_h),    as_doubles(to_scale), as_doubles(to_pre_alone)};
    };
    expect_arrays(compute, {gate, out, dpre, dh, dscale, dpre});
  });
}

/// Calls test(n, source) for long arrays as well, which several threads share.
template <class Test>
void for_each_length(const Test& test) {
  for (const auto values : {ArraySource::Values::kOrdinary, ArraySource::Values::kNotFinite}) {
    for (const std::int64_t n : {1, 2, 7, 100, 40'003}) {
      SCOPED_TRACE(n);
      ArraySource source(static_cast<std::uint64_t>(n), values);
      test(n, source);
    }
  }
}

TEST(ElementwiseTest, Sums) {
  for_each_length([](std::int64_t n, ArraySource& source) {
    const std::vector<float> x = source.floats(n);
    const double sum = std::accumulate(x.begin(), x.end(), 0.0);
    const auto compute = [&]() -> Arrays { return {{sum_of_values(x.data(), n)}}; };
    expect_arrays(compute, {{sum}}, /*tolerance=*/1e-6);
  });
  EXPECT_EQ(sum_of_values(nullptr, 0), 0);
}

TEST(ElementwiseTest, Standardise) {
  for_each_length([](std::int64_t n, ArraySource& source) {
    if (n == 1) return;  // all values are equal then
    std::vector<float> x = source.floats(n);
    for (float& value : x) value = 3 * value + 5;
    const std::vector<float> dy = source.floats(n);
    const auto count = static_cast<double>(n);
    double mean = 0;
    double square = 0;
    for (const float value : x) mean += value / count;
    for (const float value : x) square += (value - mean) * (value - mean) / count;
    const double std = std::sqrt(square);
    double dmean = 0;
    double projection = 0;
    Doubles y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = (x[i] - mean) / std + 1;
      dmean += dy[i] / count;
      projection += dy[i] * (x[i] - mean) / std / count;
    }
    Doubles dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      dx[i] = (dy[i] - dmean - (x[i] - mean) / std * projection) / std;
    }
    const auto compute = [&]() -> Arrays {
      Moments of{.mean = static_cast<float>(sum_of_values(x.data(), n) / count)};
      of.std = static_cast<float>(std::sqrt(sum_of_squares(x.data(), n, of.mean) / count));
      std::vector<float> result(x.size());
      std::vector<float> to_x(x.size());
      standardise(x.data(), n, of, result.data());
      standardise_backward(x.data(), n, of, dy.data(), sum_of_values(dy.data(), n) / count,
                           sum_of_products(x.data(), dy.data(), n, of.mean) / count, to_x.data());
      return {{of.mean, of.std}, as_doubles(result), as_doubles(to_x)};
    };
    expect_arrays(compute, {{mean, std}, y, dx});
  });
}

TEST(ElementwiseTest, Adam) {
  for_each_length([](std::int64_t n, ArraySource& source) {
    const AdamStep step{.decay = 0.01F,
                        .rate = 0.1F,
                        .beta1 = 0.9F,
                        .one_minus_beta1 = 0.1F,
                        .beta2 = 0.99F,
                        .one_minus_beta2 = 0.01F,
                        .epsilon = 1e-3F,
                        .square_correction = 0.5F};
    const std::vector<float> gradient = source.floats(n);
    const std::vector<float> parameter = source.floats(n);
    const std::vector<float> mean = source.floats(n);
    std::vector<float> square = source.floats(n);
    for (float& value : square) value = std::abs(value);
    Arrays expected = {as_doubles(parameter), as_doubles(mean), as_doubles(square)};
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double g = gradient[i] + 0.01 * parameter[i];
      expected[1][i] = 0.9 * mean[i] + 0.1 * g;
      expected[2][i] = 0.99 * square[i] + 0.01 * g * g;
      expected[0][i] -= 0.1 * expected[1][i] / (std::sqrt(expected[2][i]) / 0.5 + 1e-3);
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> new_parameter = parameter;
      std::vector<float> new_mean = mean;
      std::vector<float> new_square = square;
      adam(step, gradient.data(), n, new_parameter.data(), new_mean.data(), new_square.data());
      return {as_doubles(new_parameter), as_doubles(new_mean), as_doubles(new_square)};
    };
    expect_arrays(compute, expected);
  });
}

}  // namespace
}  // namespace curnm::kernels
