#pragma once

#include <vector>

#include "curnm/nn/module.h"
#include "curnm/nn/path.h"

// Matrix products of the fast path: CPU, float32. Submatrices and transposes are multiplied in
// place; any other layout is copied first.

namespace curnm {

/// out = a·b, or out + a·b, without gradients. REQUIRES: the rows of `out` are contiguous.
void multiply_into(const Tensor& a, const Tensor& b, const Tensor& out, bool add = false);
/// a·b in a new tensor, without gradients.
Tensor matrix_product(const Tensor& a, const Tensor& b);
/// x·weight^T + bias without gradients; an undefined bias is 0. REQUIRES: as above.
void affine_into(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& out);
Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias);
/// The sum of the rows, [n,D] -> [D].
Tensor sum_of_rows(const Tensor& matrix);
/// The given rows of a matrix, without gradients: the matrix itself where they are all of its rows
/// in order, a copy otherwise. REQUIRES: the rows are distinct.
Tensor subset_of_rows(const Tensor& matrix, const std::vector<std::int64_t>& rows);

/// x·weight^T + bias by either path, with gradients. [n,D] -> [n,C]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Path path);
Tensor linear(const Tensor& x, const Linear& map, Path path);

}  // namespace curnm
