#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "curnm/nn/tensor.h"

namespace curnm::testing {

/// Compares the gradient of a scalar function with central differences, entry by entry.
/// REQUIRES: `x` is a double leaf that requires a gradient.
inline void expect_gradient(const Tensor& x, const std::function<Tensor()>& f, double step = 1e-6,
                            double tolerance = 1e-5) {
  x.mutable_grad() = Tensor();
  f().backward();
  ASSERT_TRUE(x.grad().defined());
  const Tensor analytic = x.grad().clone();
  const NoGradGuard no_grad;
  Tensor flat = x.view(-1);
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const double before = flat[i].item<double>();
    flat[i] = before + step;
    const double above = f().item<double>();
    flat[i] = before - step;
    const double below = f().item<double>();
    flat[i] = before;
    const double numeric = (above - below) / (2 * step);
    EXPECT_NEAR(analytic.view(-1)[i].item<double>(), numeric, tolerance * (1 + std::abs(numeric)))
        << "entry " << i;
  }
}

}  // namespace curnm::testing
