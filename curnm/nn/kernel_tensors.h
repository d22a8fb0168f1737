#pragma once

#include <algorithm>

#include "curnm/base/error.h"
#include "curnm/nn/tensor.h"

// Tensors for kernels, which take pointers and lengths but no strides. Arguments of autograd
// functions around kernels go through `apply_contiguous` or the functions it calls; pointers come
// from `float_data` and `row_data`, which refuse a layout that a kernel would misread.

namespace curnm {

inline bool is_present(const Tensor& tensor) { return tensor.defined() && tensor.numel() > 0; }

/// The tensor itself if it is contiguous, a contiguous copy if not, and an empty tensor for an
/// undefined one, which LibTorch does not pass to autograd functions. Gradients flow through the
/// copy.
inline Tensor contiguous_or_empty(const Tensor& tensor) {
  return tensor.defined() ? tensor.contiguous() : at::empty({0}, at::kFloat);
}

namespace detail {
inline Tensor kernel_argument(const Tensor& tensor) { return contiguous_or_empty(tensor); }
template <class T>
const T& kernel_argument(const T& value) {
  return value;
}
}  // namespace detail

/// Function::apply with `contiguous_or_empty` of every argument that is a tensor.
template <class Function, class... Arguments>
auto apply_contiguous(const Arguments&... arguments) {
  return Function::apply(detail::kernel_argument(arguments)...);
}

/// The values of a contiguous tensor on the CPU; null where there are none.
inline float* float_data(const Tensor& tensor) {
  if (!is_present(tensor)) return nullptr;
  CURNM_ASSERT(tensor.is_cpu() && tensor.is_contiguous());
  return tensor.data_ptr<float>();
}

/// Whether the lines of a matrix along one dimension are each contiguous and do not overlap. There
/// may be gaps between them, as in a submatrix.
inline bool has_contiguous_lines(const Tensor& matrix, std::int64_t along) {
  const std::int64_t across = 1 - along;
  return (matrix.stride(along) == 1 || matrix.size(along) <= 1) &&
         (matrix.stride(across) >= matrix.size(along) || matrix.size(across) <= 1);
}
/// The distance between such lines.
inline std::int64_t line_stride(const Tensor& matrix, std::int64_t along) {
  // A single line may have any stride; libraries refuse one that is too short.
  return std::max(matrix.stride(1 - along), matrix.size(along));
}
inline bool has_contiguous_rows(const Tensor& matrix) {
  CURNM_ASSERT(matrix.dim() == 2);
  return has_contiguous_lines(matrix, /*along=*/1);
}
/// `contiguous_or_empty` for kernels that take a row stride: submatrices are read in place.
inline Tensor with_contiguous_rows(const Tensor& matrix) {
  return has_contiguous_rows(matrix) ? matrix : matrix.contiguous();
}
/// The values of a matrix on the CPU whose rows are contiguous, and their row stride.
inline float* row_data(const Tensor& matrix) {
  CURNM_ASSERT(matrix.is_cpu() && has_contiguous_rows(matrix));
  return matrix.data_ptr<float>();
}
inline std::int64_t row_stride(const Tensor& matrix) { return line_stride(matrix, /*along=*/1); }

/// A new tensor of the same shape, contiguous, not filled.
inline Tensor empty_floats_like(const Tensor& tensor) {
  return at::empty(tensor.sizes(), at::kFloat);
}

}  // namespace curnm
