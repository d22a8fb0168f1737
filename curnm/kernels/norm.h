#pragma once

#include <cstdint>
#include <span>

namespace curnm::kernels {

/// Per row: y = LayerNorm(ReLU(x·mask)), or LayerNorm(x), with scale gamma and shift beta. Row i of
/// x is row order[i] of mask and y.
struct NormInput {
  bool relu = true;
  std::int64_t width = 0;
  std::span<const std::int64_t> order;
  const float* x = nullptr;      // [rows,width]
  const float* mask = nullptr;   // [rows,width]: dropout before the ReLU; null without
  const float* gamma = nullptr;  // [width]
  const float* beta = nullptr;   // [width]
  float epsilon = 1e-5F;
};
/// `mean` and `inverse_std` [rows] keep the moments of each row for the backward pass.
void layer_norm(const NormInput& in, float* y, float* mean, float* inverse_std);

/// For the active rows of x: dx of each from dy, both [A,width], and the sums of dgamma and dbeta
/// over them.
void layer_norm_backward(const NormInput& in, std::span<const std::int64_t> active,
                         const float* mean, const float* inverse_std, const float* dy, float* dx,
                         float* dgamma, float* dbeta);

}  // namespace curnm::kernels
