#pragma once

#include <vector>

#include "curnm/nn/tensor.h"

namespace curnm {

/// Updates parameters from their gradients. Its state is a list of tensors, so that checkpoints do
/// not depend on the version of LibTorch.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  virtual void zero_grad() = 0;
  virtual void step() = 0;

  virtual std::vector<Tensor> state() const = 0;
  virtual void set_state(const std::vector<Tensor>& state) = 0;
};

}  // namespace curnm
