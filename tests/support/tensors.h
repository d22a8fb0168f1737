#pragma once

#include "curnm/nn/module.h"

// Operations that tests need besides those of the library, each with its own header: all of ATen
// takes longer to compile than most tests.

#include <ATen/ops/allclose.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

namespace curnm::testing {

/// The parameters of a module as doubles: finite differences need them.
inline void to_double(const Module& module) {
  for (const Tensor& parameter : module.parameters()) {
    parameter.set_data(parameter.detach().to(at::kDouble));
  }
}

/// Gives a module the values of another one of the same kind.
inline void copy_parameters(const Module& from, const Module& to) {
  const NoGradGuard no_grad;
  const NamedTensors values = from.named_weights();
  for (const auto& item : to.named_weights()) item.tensor.copy_(values[item.key()]);
}

}  // namespace curnm::testing
