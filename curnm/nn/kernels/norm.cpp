#include "curnm/nn/kernels/norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "curnm/base/parallel.h"
#include "curnm/nn/kernels/rows.h"
#include "curnm/nn/kernels/simd.h"

namespace curnm::kernels {
namespace {

constexpr std::int64_t kGrain = 32;

CURNM_INLINE const float* mask(const NormInput& in, std::int64_t row) {
  return in.mask + in.order[static_cast<std::size_t>(row)] * in.width;
}

CURNM_INLINE float kept(const NormInput& in, std::int64_t row, std::int64_t d) {
  const float value = in.x[row * in.width + d];
  const float x = in.mask == nullptr ? value : value * mask(in, row)[d];
  return x < 0 ? 0 : x;  // NaN stays NaN
}

CURNM_KERNEL void norm_row(const NormInput& in, std::int64_t row, float* y, float* centre,
                           float* rate) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t d = 0; d < in.width; ++d) sum += kept(in, row, d);
  const float mean = sum / static_cast<float>(in.width);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t d = 0; d < in.width; ++d) {
    const float centred = kept(in, row, d) - mean;
    squares += centred * centred;
  }
  const float scale = 1 / std::sqrt(squares / static_cast<float>(in.width) + in.epsilon);
  float* out = y + in.order[static_cast<std::size_t>(row)] * in.width;
#pragma omp simd
  for (std::int64_t d = 0; d < in.width; ++d) {
    out[d] = (kept(in, row, d) - mean) * scale * in.gamma[d] + in.beta[d];
  }
  centre[row] = mean;
  rate[row] = scale;
}

CURNM_KERNEL void norm_row_backward(const NormInput& in, std::int64_t row, float centre, float rate,
                                    const float* dy, float* dx, float* dgamma, float* dbeta) {
  float mean = 0;
  float projection = 0;
#pragma omp simd reduction(+ : mean, projection)
  for (std::int64_t d = 0; d < in.width; ++d) {
    const float normed = (kept(in, row, d) - centre) * rate;
    const float gradient = dy[d] * in.gamma[d];
    mean += gradient;
    projection += gradient * normed;
  }
  mean /= static_cast<float>(in.width);
  projection /= static_cast<float>(in.width);
#pragma omp simd
  for (std::int64_t d = 0; d < in.width; ++d) {
    const float value = kept(in, row, d);
    const float normed = (value - centre) * rate;
    const float gradient = rate * (dy[d] * in.gamma[d] - mean - normed * projection);
    const float factor = in.mask == nullptr ? 1 : mask(in, row)[d];
    dx[d] = value > 0 ? gradient * factor : 0;
    dgamma[d] += dy[d] * normed;
    dbeta[d] += dy[d];
  }
}

}  // namespace

void relu_norm(const NormInput& in, float* y, float* centre, float* rate) {
  parallel_for(std::ssize(in.order), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) norm_row(in, row, y, centre, rate);
  });
}

void relu_norm_backward(const NormInput& in, std::span<const std::int64_t> active,
                        const float* centre, const float* rate, const float* dy, float* dx,
                        float* dgamma, float* dbeta) {
  const auto width = static_cast<std::size_t>(in.width);
  std::vector<float> gammas(kRowParts * width, 0);
  std::vector<float> betas(kRowParts * width, 0);
  parallel_parts(std::ssize(active), kRowParts,
                 [&](int part, std::int64_t begin, std::int64_t end) {
                   const std::size_t at = static_cast<std::size_t>(part) * width;
                   for (std::int64_t a = begin; a < end; ++a) {
                     const std::int64_t row = active[static_cast<std::size_t>(a)];
                     norm_row_backward(in, row, centre[row], rate[row], dy + a * in.width,
                                       dx + a * in.width, gammas.data() + at, betas.data() + at);
                   }
                 });
  add_parts(gammas, in.width, dgamma);
  add_parts(betas, in.width, dbeta);
}

}  // namespace curnm::kernels
