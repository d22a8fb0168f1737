#pragma once

#include <torch/torch.h>

#include <vector>

#include "curnm/nn/path.h"

namespace curnm {

/// out = a·b, or out + a·b. CPU, float32, each with unit stride in one dimension (`out`: the
/// second): parts of matrices and transposes are multiplied where they are.
void multiply(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& out,
              bool add = false);
/// a·b in a new tensor.
torch::Tensor product(const torch::Tensor& a, const torch::Tensor& b);
/// x·weight^T + bias without gradients; an undefined bias is 0.
void affine_into(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                 const torch::Tensor& out);
torch::Tensor affine(const torch::Tensor& x, const torch::Tensor& weight,
                     const torch::Tensor& bias);
/// The sum of the rows, [n,D] -> [D].
torch::Tensor sum_of_rows(const torch::Tensor& matrix);
/// Distinct rows of a matrix; the matrix itself where they are all of it, in order.
torch::Tensor rows_of(const torch::Tensor& matrix, const std::vector<std::int64_t>& rows);

/// The same by either path, with gradients. [n,D] -> [n,C]
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                     Path path);
torch::Tensor linear(const torch::Tensor& x, const torch::nn::Linear& map, Path path);

}  // namespace curnm
