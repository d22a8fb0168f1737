#include "curnm/kernels/norm.h"

#include <gtest/gtest.h>

#include "support/arrays.h"

namespace curnm::kernels {
namespace {

using testing::Arrays;
using testing::ArraySource;
using testing::as_doubles;
using testing::Doubles;
using testing::expect_arrays;

struct NormCase {
  const char* name;
  bool relu;
  bool masked;
};

class NormTest : public ::testing::TestWithParam<NormCase> {
 protected:
  struct Scene {
    Scene(std::int64_t num_rows, std::int64_t row_width, ArraySource& source)
        : rows(num_rows),
          width(row_width),
          order(source.permutation(rows)),
          x(source.floats(rows * width)),
          mask(source.floats(rows * width)),
          gamma(source.floats(width)),
          beta(source.floats(width)) {}

    NormInput input() const {
      return {.relu = GetParam().relu,
              .width = width,
              .order = order,
              .x = x.data(),
              .mask = GetParam().masked ? mask.data() : nullptr,
              .gamma = gamma.data(),
              .beta = beta.data()};
    }
    double factor(std::int64_t row, std::int64_t d) const {
      return GetParam().masked ? mask[index(order[index(row)] * width + d)] : 1;
    }
    /// What is normalised. NaN stays NaN.
    double activation(std::int64_t row, std::int64_t d) const {
      const double value = x[index(row * width + d)] * factor(row, d);
      return GetParam().relu && value < 0 ? 0 : value;
    }

    std::int64_t rows;
    std::int64_t width;
    std::vector<std::int64_t> order;
    std::vector<float> x;
    std::vector<float> mask;
    std::vector<float> gamma;
    std::vector<float> beta;
  };
};

TEST_P(NormTest, Forward) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const Scene scene(rows, width, source);
    Doubles y(scene.x.size());
    Doubles means(index(rows), 0);
    Doubles inverse_stds(index(rows));
    const auto count = static_cast<double>(width);
    for (std::int64_t i = 0; i < rows; ++i) {
      double& mean = means[index(i)];
      double variance = 0;
      for (std::int64_t d = 0; d < width; ++d) mean += scene.activation(i, d) / count;
      for (std::int64_t d = 0; d < width; ++d) {
        variance += std::pow(scene.activation(i, d) - mean, 2) / count;
      }
      inverse_stds[index(i)] = 1 / std::sqrt(variance + 1e-5);
      for (std::int64_t d = 0; d < width; ++d) {
        y[index(scene.order[index(i)] * width + d)] =
            (scene.activation(i, d) - mean) * inverse_stds[index(i)] * scene.gamma[index(d)] +
            scene.beta[index(d)];
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> result(y.size());
      std::vector<float> mean(index(rows));
      std::vector<float> inverse_std(index(rows));
      layer_norm(scene.input(), result.data(), mean.data(), inverse_std.data());
      return {as_doubles(result), as_doubles(mean), as_doubles(inverse_std)};
    };
    expect_arrays(compute, {y, means, inverse_stds});
  });
}

TEST_P(NormTest, BackwardOfSomeRows) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const Scene scene(rows, width, source);
    const std::vector<float> mean = source.floats(rows);
    const std::vector<float> inverse_std = source.floats(rows);
    std::vector<std::int64_t> active = source.permutation(rows);
    active.resize(index((rows + 1) / 2));
    const std::vector<float> dy = source.floats(std::ssize(active) * width);
    Doubles dx(dy.size());
    Doubles dgamma(index(width), 0);
    Doubles dbeta(index(width), 0);
    for (std::int64_t a = 0; a < std::ssize(active); ++a) {
      const std::int64_t row = active[index(a)];
      const double scale = inverse_std[index(row)];
      const auto normed = [&](std::int64_t d) {
        return (scene.activation(row, d) - mean[index(row)]) * scale;
      };
      double centre = 0;
      double projection = 0;
      for (std::int64_t d = 0; d < width; ++d) {
        const double gradient =
            static_cast<double>(dy[index(a * width + d)]) * scene.gamma[index(d)];
        centre += gradient / static_cast<double>(width);
        projection += gradient * normed(d) / static_cast<double>(width);
        dgamma[index(d)] += dy[index(a * width + d)] * normed(d);
        dbeta[index(d)] += dy[index(a * width + d)];
      }
      for (std::int64_t d = 0; d < width; ++d) {
        const bool passes = !GetParam().relu || scene.activation(row, d) > 0;
        const double gradient =
            static_cast<double>(dy[index(a * width + d)]) * scene.gamma[index(d)];
        dx[index(a * width + d)] =
            passes ? scale * (gradient - centre - normed(d) * projection) * scene.factor(row, d)
                   : 0;
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> to_x(dx.size());
      std::vector<float> to_gamma(dgamma.size(), -7);
      std::vector<float> to_beta(dbeta.size(), -7);
      layer_norm_backward(scene.input(), active, mean.data(), inverse_std.data(), dy.data(),
                          to_x.data(), to_gamma.data(), to_beta.data());
      return {as_doubles(to_x), as_doubles(to_gamma), as_doubles(to_beta)};
    };
    expect_arrays(compute, {dx, dgamma, dbeta});
  });
}

INSTANTIATE_TEST_SUITE_P(All, NormTest,
                         ::testing::Values(NormCase{"alone", false, false},
                                           NormCase{"relu", true, false},
                                           NormCase{"masked_relu", true, true}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace curnm::kernels
