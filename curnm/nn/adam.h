#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "curnm/nn/path.h"

namespace curnm {

struct AdamOptions {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  std::size_t decaying = SIZE_MAX;  // how many parameters, from the first, make Theta
  Path path = Path::kFast;
};

/// Adam (Kingma, Ba 2015, arXiv 1412.6980v9), as torch::optim::Adam computes it, but with one count
/// of steps for all parameters: one that gets its first gradient late is not taken for new. Ours
/// because its state is a list of tensors, which a checkpoint can carry between versions of
/// LibTorch.
class Adam {
 public:
  Adam(std::vector<torch::Tensor> parameters, const AdamOptions& options);

  void zero_grad();

  /// One step along the gradients of the loss and of decay·|Theta|². The latter costs nothing here;
  /// as part of the loss it was a twentieth of a training step.
  void step(double decay = 0);

  std::vector<torch::Tensor> state() const;
  void set_state(const std::vector<torch::Tensor>& state);

 private:
  std::vector<torch::Tensor> parameters_;
  AdamOptions options_;
  std::vector<torch::Tensor> mean_;
  std::vector<torch::Tensor> square_;
  std::int64_t steps_ = 0;
};

}  // namespace curnm
