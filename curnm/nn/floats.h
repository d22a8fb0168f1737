#pragma once

#include <torch/torch.h>

// What autograd functions around kernels share: tensors as float pointers.

namespace curnm {

// LibTorch does not pass undefined tensors to functions: what is absent is empty there.
inline torch::Tensor or_empty(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor : torch::empty({0}, torch::kFloat32);
}
inline bool is_present(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0;
}
/// Null where there is nothing.
inline float* data(const torch::Tensor& tensor) {
  return is_present(tensor) ? tensor.data_ptr<float>() : nullptr;
}
/// A new tensor of the same shape, not filled.
inline torch::Tensor like(const torch::Tensor& tensor) {
  return torch::empty(tensor.sizes(), torch::kFloat32);
}

}  // namespace curnm
