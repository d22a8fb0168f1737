#include "curnm/kernels/norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "curnm/base/parallel.h"
#include "curnm/kernels/rows.h"
#include "curnm/kernels/simd.h"

namespace curnm::kernels {
namespace {

constexpr std::int64_t kGrain = 32;

/// What is applied before the norm. A template argument: a condition inside the loops would keep
/// the compiler from vectorising them.
enum class Before { kNothing, kRelu, kMaskedRelu };

template <Before kBefore>
struct Row {
  const float* x;
  const float* mask;

  Row(const NormInput& in, std::int64_t row)
      : x(in.x + row * in.width),
        mask(in.mask == nullptr ? nullptr
                                : in.mask + in.order[static_cast<std::size_t>(row)] * in.width) {}

  CURNM_INLINE float factor(std::int64_t d) const {
    if constexpr (kBefore == Before::kMaskedRelu) return mask[d];
    return 1;
  }
  /// What is normalised.
  CURNM_INLINE float activation(std::int64_t d) const {
    const float value = x[d] * factor(d);
    return kBefore != Before::kNothing && value < 0 ? 0 : value;  // NaN stays NaN
  }
  /// The gradient of x from that of the activation.
  CURNM_INLINE float input_gradient(std::int64_t d, float gradient) const {
    return kBefore != Before::kNothing && !(activation(d) > 0) ? 0 : gradient * factor(d);
  }
};

template <Before kBefore>
CURNM_INLINE void norm(const NormInput& in, std::int64_t index, float* y, float* means,
                       float* inverse_stds) {
  const Row<kBefore> row(in, index);
  const std::int64_t width = in.width;
  const float* gamma = in.gamma;
  const float* beta = in.beta;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t d = 0; d < width; ++d) sum += row.activation(d);
  const float mean = sum / static_cast<float>(width);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t d = 0; d < width; ++d) {
    const float centred = row.activation(d) - mean;
    squares += centred * centred;
  }
  const float inverse_std = 1 / std::sqrt(squares / static_cast<float>(width) + in.epsilon);
  float* out = y + in.order[static_cast<std::size_t>(index)] * width;
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) {
    out[d] = (row.activation(d) - mean) * inverse_std * gamma[d] + beta[d];
  }
  means[index] = mean;
  inverse_stds[index] = inverse_std;
}

CURNM_KERNEL void norm_row(const NormInput& in, std::int64_t row, float* y, float* means,
                           float* inverse_stds) {
  if (!in.relu) return norm<Before::kNothing>(in, row, y, means, inverse_stds);
  if (in.mask == nullptr) return norm<Before::kRelu>(in, row, y, means, inverse_stds);
  norm<Before::kMaskedRelu>(in, row, y, means, inverse_stds);
}

/// The backward pass of one row.
struct NormGradient {
  const float* dy;
  float* dx;
  float* dgamma;
  float* dbeta;
};

template <Before kBefore>
CURNM_INLINE void norm_backward(const NormInput& in, std::int64_t index, float mean,
                                float inverse_std, const NormGradient& out) {
  const Row<kBefore> row(in, index);
  const std::int64_t width = in.width;
  const float* gamma = in.gamma;
  // Copies: clang 14 accepts no structured bindings here, and members would be reloaded in every
  // iteration.
  const float* dy = out.dy;
  float* dx = out.dx;
  float* dgamma = out.dgamma;
  float* dbeta = out.dbeta;
  float gradient_mean = 0;
  float projection = 0;
#pragma omp simd reduction(+ : gradient_mean, projection)
  for (std::int64_t d = 0; d < width; ++d) {
    const float normed = (row.activation(d) - mean) * inverse_std;
    const float gradient = dy[d] * gamma[d];
    gradient_mean += gradient;
    projection += gradient * normed;
  }
  gradient_mean /= static_cast<float>(width);
  projection /= static_cast<float>(width);
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) {
    const float normed = (row.activation(d) - mean) * inverse_std;
    const float gradient = inverse_std * (dy[d] * gamma[d] - gradient_mean - normed * projection);
    dx[d] = row.input_gradient(d, gradient);
    dgamma[d] += dy[d] * normed;
    dbeta[d] += dy[d];
  }
}

CURNM_KERNEL void norm_row_backward(const NormInput& in, std::int64_t row, float mean,
                                    float inverse_std, const NormGradient& out) {
  if (!in.relu) return norm_backward<Before::kNothing>(in, row, mean, inverse_std, out);
  if (in.mask == nullptr) return norm_backward<Before::kRelu>(in, row, mean, inverse_std, out);
  norm_backward<Before::kMaskedRelu>(in, row, mean, inverse_std, out);
}

}  // namespace

void layer_norm(const NormInput& in, float* y, float* mean, float* inverse_std) {
  parallel_for(std::ssize(in.order), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) norm_row(in, row, y, mean, inverse_std);
  });
}

void layer_norm_backward(const NormInput& in, std::span<const std::int64_t> active,
                         const float* mean, const float* inverse_std, const float* dy, float* dx,
                         float* dgamma, float* dbeta) {
  const auto width = static_cast<std::size_t>(in.width);
  std::vector<float> gammas(kRowParts * width, 0);
  std::vector<float> betas(kRowParts * width, 0);
  parallel_parts(
      std::ssize(active), kRowParts, [&](int part, std::int64_t begin, std::int64_t end) {
        const std::size_t at = static_cast<std::size_t>(part) * width;
        for (std::int64_t a = begin; a < end; ++a) {
          const std::int64_t row = active[static_cast<std::size_t>(a)];
          norm_row_backward(
              in, row, mean[row], inverse_std[row],
              {dy + a * in.width, dx + a * in.width, gammas.data() + at, betas.data() + at});
        }
      });
  add_parts(gammas, in.width, dgamma);
  add_parts(betas, in.width, dbeta);
}

}  // namespace curnm::kernels
