#pragma once

#include <torch/torch.h>

namespace curnm {

/// How a step is computed: the same result but for rounding.
enum class Path {
  kFast,   // fused kernels where there are some, on the CPU
  kPlain,  // tensor operations alone, on any device: what the fast path is tested against
};

/// Whether the kernels can take this.
inline bool has_kernels(Path path, const torch::Tensor& tensor) {
  return path == Path::kFast && tensor.device().is_cpu() && tensor.scalar_type() == torch::kFloat32;
}

}  // namespace curnm
