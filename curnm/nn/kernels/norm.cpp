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

/// One row. Whether there is a mask is known to the compiler: a question inside the loops would
/// keep it from vectorising them.
template <bool kMasked>
struct Row {
  const float* x;
  const float* mask;

  Row(const NormInput& in, std::int64_t row)
      : x(in.x + row * in.width),
        mask(kMasked ? in.mask + in.order[static_cast<std::size_t>(row)] * in.width : nullptr) {}

  CURNM_INLINE float factor(std::int64_t d) const {
    if constexpr (kMasked) return mask[d];
    return 1;
  }
  /// ReLU(x·mask)
  CURNM_INLINE float kept(std::int64_t d) const {
    const float value = x[d] * factor(d);
    return value < 0 ? 0 : value;  // NaN stays NaN
  }
};

template <bool kMasked>
CURNM_INLINE void norm(const NormInput& in, std::int64_t index, float* y, float* centre,
                       float* rate) {
  const Row<kMasked> row(in, index);
  const std::int64_t width = in.width;
  const float* gamma = in.gamma;
  const float* beta = in.beta;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t d = 0; d < width; ++d) sum += row.kept(d);
  const float mean = sum / static_cast<float>(width);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t d = 0; d < width; ++d) {
    const float centred = row.kept(d) - mean;
    squares += centred * centred;
  }
  const float scale = 1 / std::sqrt(squares / static_cast<float>(width) + in.epsilon);
  float* out = y + in.order[static_cast<std::size_t>(index)] * width;
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) {
    out[d] = (row.kept(d) - mean) * scale * gamma[d] + beta[d];
  }
  centre[index] = mean;
  rate[index] = scale;
}

CURNM_KERNEL void norm_row(const NormInput& in, std::int64_t row, float* y, float* centre,
                           float* rate) {
  if (in.mask != nullptr) return norm<true>(in, row, y, centre, rate);
  norm<false>(in, row, y, centre, rate);
}

/// What flows back through one row.
struct NormGradient {
  const float* dy;
  float* dx;
  float* dgamma;
  float* dbeta;
};

template <bool kMasked>
CURNM_INLINE void norm_backward(const NormInput& in, std::int64_t index, float centre, float rate,
                                const NormGradient& out) {
  const Row<kMasked> row(in, index);
  const std::int64_t width = in.width;
  const float* gamma = in.gamma;
  const auto [dy, dx, dgamma, dbeta] = out;
  float mean = 0;
  float projection = 0;
#pragma omp simd reduction(+ : mean, projection)
  for (std::int64_t d = 0; d < width; ++d) {
    const float normed = (row.kept(d) - centre) * rate;
    const float gradient = dy[d] * gamma[d];
    mean += gradient;
    projection += gradient * normed;
  }
  mean /= static_cast<float>(width);
  projection /= static_cast<float>(width);
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) {
    const float value = row.kept(d);
    const float normed = (value - centre) * rate;
    const float gradient = rate * (dy[d] * gamma[d] - mean - normed * projection);
    dx[d] = value > 0 ? gradient * row.factor(d) : 0;
    dgamma[d] += dy[d] * normed;
    dbeta[d] += dy[d];
  }
}

CURNM_KERNEL void norm_row_backward(const NormInput& in, std::int64_t row, float centre, float rate,
                                    const NormGradient& out) {
  if (in.mask != nullptr) return norm_backward<true>(in, row, centre, rate, out);
  norm_backward<false>(in, row, centre, rate, out);
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
  parallel_parts(
      std::ssize(active), kRowParts, [&](int part, std::int64_t begin, std::int64_t end) {
        const std::size_t at = static_cast<std::size_t>(part) * width;
        for (std::int64_t a = begin; a < end; ++a) {
          const std::int64_t row = active[static_cast<std::size_t>(a)];
          norm_row_backward(
              in, row, centre[row], rate[row],
              {dy + a * in.width, dx + a * in.width, gammas.data() + at, betas.data() + at});
        }
      });
  add_parts(gammas, in.width, dgamma);
  add_parts(betas, in.width, dbeta);
}

}  // namespace curnm::kernels
