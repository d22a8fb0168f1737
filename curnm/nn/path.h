#pragma once

#include "curnm/base/path.h"
#include "curnm/nn/tensor.h"

namespace curnm {

/// Whether the kernels support this tensor.
inline bool has_kernels(Path path, const Tensor& tensor) {
  return path == Path::kFast && tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat;
}

}  // namespace curnm
