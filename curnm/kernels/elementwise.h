#pragma once

#include <cstdint>
#include <span>

#include "curnm/base/rng.h"

namespace curnm::kernels {

/// out[i,j] = cos(dt[i]·frequency[j]), [n,width]; rows of `out` begin `stride` apart.
void cosines(std::span<const double> dt, std::span<const double> frequency, float* out,
             std::int64_t stride);
/// The same for K gaps per count, of which the first `counts[r]` are wanted: other rows of `out`
/// are not written.
void cosines(std::span<const double> dt, std::span<const std::int32_t> counts,
             std::span<const double> frequency, float* out);

/// Angles t[i]·frequency[j] + phase[j]: the first column unchanged, the others as sines; and the
/// derivative with respect to the angle. [n,width] each
void sines(std::span<const double> t, std::span<const double> frequency,
           std::span<const double> phase, float* out, float* slope);
/// Sums over i of g[i,j] = dout[i,j]·slope[i,j], and of g[i,j]·t[i].
void sines_backward(std::span<const double> t, const float* slope, const float* dout,
                    std::span<double> dfrequency, std::span<double> dphase);

/// The mask of inverted dropout: 0 with probability `rate`, otherwise `scale`; the draws of `rng`.
void dropout(Rng rng, double rate, float scale, std::span<float> mask);

/// A GRU cell from its linear maps: r = sigmoid(in_r), u = sigmoid(in_u),
/// c = tanh(in_c + r·hidden), out = (1 - u)·c + u·h.
struct GruInput {
  std::int64_t rows = 0;
  std::int64_t width = 0;         // D
  const float* in = nullptr;      // [n,3D]: in_r ‖ in_u ‖ in_c
  const float* hidden = nullptr;  // [n,D]
  const float* h = nullptr;       // [n,D]
  std::int64_t h_stride = 0;      // of its rows
};
/// `gates` [n,3D] keeps r, u and c for the backward pass.
void gru(const GruInput& input, float* gates, float* out);
/// Gradients of `in` and `hidden`; h has none. Does not read `input.in`.
void gru_backward(const GruInput& input, const float* gates, const float* dout, float* din,
                  float* dhidden);

/// The relevant factors of n candidates: h·sigmoid(context[owner] + own)·scale, element by element.
struct GatedInput {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::span<const std::int64_t> owner;  // [n]: rows of context
  const float* context = nullptr;       // [C,D]
  const float* own = nullptr;           // [n,D]
  const float* h = nullptr;             // [n,D]
  const float* scale = nullptr;         // [n,D]; null: 1
};
/// `gate` [n,D] receives the sigmoid.
void gated(const GatedInput& input, float* gate, float* out);
/// `dpre` is the gradient of `own`; that of a context is the sum of the rows that it owns. dh and
/// dscale may be null. Does not read context and own.
void gated_backward(const GatedInput& input, const float* gate, const float* dout, float* dpre,
                    float* dh, float* dscale);

// Sums in double, in parts that do not depend on the number of threads: of x, (x - centre)^2 and
// (x - centre)·y.
double sum_of_values(const float* x, std::int64_t n);
double sum_of_squares(const float* x, std::int64_t n, float centre);
double sum_of_products(const float* x, const float* y, std::int64_t n, float centre);

struct Moments {
  float mean = 0;
  float std = 0;
};
/// y = (x - mean) / std + 1, for values whose moments these are, or for some of them. REQUIRES: the
/// values are not all equal.
void standardise(const float* x, std::int64_t n, const Moments& of, float* y);
/// `mean` and `projection`: of dy and of (x - mean)·dy, over all values with these moments.
void standardise_backward(const float* x, std::int64_t n, const Moments& of, const float* dy,
                          double mean, double projection, float* dx);

/// One Adam step on n values.
struct AdamStep {
  float decay = 0;  // times the parameter: added to the gradient
  float rate = 0;   // learning rate, with the correction of the mean
  float beta1 = 0;
  float one_minus_beta1 = 1;  // computed in double: 1 - 0.999F has an error of 1e-5
  float beta2 = 0;
  float one_minus_beta2 = 1;
  float epsilon = 0;
  float square_correction = 1;  // sqrt(1 - beta2^t)
};
void adam(const AdamStep& step, const float* gradient, std::int64_t n, float* parameter,
          float* mean, float* square);

}  // namespace curnm::kernels
