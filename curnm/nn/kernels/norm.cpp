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

/// What is done before the norm. Known to the compiler: a question inside the loops would keep it
/// from vectorising them.
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
  CURNM_INLINE float kept(std::int64_t d) const {
    const float value = x[d] * factor(d);
    return kBefore != Before::kNothing && value < 0 ? 0 : value;  // NaN stays NaN
  }
  /// The gradient of x from that of what is kept.
  CURNM_INLINE float back(std::int64_t d, float gradient) const {
    return kBefore != Before::kNothing && !(kept(d) > 0) ? 0 : gradient * factor(d);
  }
};

template <Before kBefore>
CURNM_INLINE void norm(const NormInput& in, std::int64_t index, float* y, float* centre,
                       float* rate) {
  const Row<kBefore> row(in, index);
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
  if (!in.relu) return norm<Before::kNothing>(in, row, y, centre, rate);
  if (in.mask == nullptr) return norm<Before::kRelu>(in, row, y, centre, rate);
  norm<Before::kMaskedRelu>(in, row, y, centre, rate);
}

/// What flows back through one row.
struct NormGradient {
  const float* dy;
  float* dx;
  float* dgamma;
  float* dbeta;
};

template <Before kBefore>
CURNM_INLINE void norm_backward(const NormInput& in, std::int64_t index, float centre, float rate,
                                const NormGradient& out) {
  const Row<kBefore> row(in, index);
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
    const float normed = (row.kept(d) - centre) * rate;
    const float gradient = rate * (dy[d] * gamma[d] - mean - normed * projection);
    dx[d] = row.back(d, gradient);
    dgamma[d] += dy[d] * normed;
    dbeta[d] += dy[d];
  }
}

CURNM_KERNEL void norm_row_backward(const NormInput& in, std::int64_t row, float centre, float rate,
                                    const NormGradient& out) {
  if (!in.relu) return norm_backward<Before::kNothing>(in, row, centre, rate, out);
  if (in.mask == nullptr) return norm_backward<Before::kRelu>(in, row, centre, rate, out);
  norm_backward<Before::kMaskedRelu>(in, row, centre, rate, out);
}

}  // namespace

void layer_norm(const NormInput& in, float* y, float* centre, float* rate) {
  parallel_for(std::ssize(in.order), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) norm_row(in, row, y, centre, rate);
  });
}

void layer_norm_backward(const NormInput& in, std::span<const std::int64_t> active,
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
