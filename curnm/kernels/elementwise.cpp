#include "curnm/kernels/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "curnm/base/parallel.h"
#include "curnm/kernels/rows.h"
#include "curnm/kernels/simd.h"

namespace curnm::kernels {
namespace {

constexpr std::int64_t kGrain = 32;       // minimum rows per thread
constexpr std::int64_t kValues = 16'384;  // minimum values per thread

CURNM_KERNEL void cosines_of(double dt, const double* frequency, std::int64_t width, float* out) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) out[j] = cosine(dt * frequency[j]);
}

CURNM_KERNEL void sines_of(double t, const double* frequency, const double* phase,
                           std::int64_t width, float* out, float* slope) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) {
    const double angle = t * frequency[j] + phase[j];
    out[j] = sine(angle);
    slope[j] = cosine(angle);
  }
  out[0] = static_cast<float>(t * frequency[0] + phase[0]);
  slope[0] = 1;
}

CURNM_KERNEL void dropout_of(Rng rng, double rate, float scale, float* mask, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) mask[i] = rng.uniform() < rate ? 0.0F : scale;
}

CURNM_KERNEL void gru_row(const float* in, const float* hidden, const float* h, std::int64_t width,
                          float* gates, float* out) {
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) {
    const float reset = sigmoid(in[d]);
    const float update = sigmoid(in[width + d]);
    const float fresh = tanh(in[2 * width + d] + reset * hidden[d]);
    gates[d] = reset;
    gates[width + d] = update;
    gates[2 * width + d] = fresh;
    out[d] = fresh + update * (h[d] - fresh);
  }
}

CURNM_KERNEL void gru_row_backward(const float* hidden, const float* h, const float* gates,
                                   const float* dout, std::int64_t width, float* din,
                                   float* dhidden) {
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) {
    const float reset = gates[d];
    const float update = gates[width + d];
    const float fresh = gates[2 * width + d];
    const float dfresh = dout[d] * (1 - update) * (1 - fresh * fresh);
    const float dupdate = dout[d] * (h[d] - fresh) * update * (1 - update);
    din[d] = dfresh * hidden[d] * reset * (1 - reset);
    din[width + d] = dupdate;
    din[2 * width + d] = dfresh;
    dhidden[d] = dfresh * reset;
  }
}

CURNM_KERNEL void gated_row(const float* context, const float* own, const float* h,
                            const float* scale, std::int64_t width, float* gate, float* out) {
  if (scale == nullptr) {
#pragma omp simd
    for (std::int64_t d = 0; d < width; ++d) {
      gate[d] = sigmoid(context[d] + own[d]);
      out[d] = h[d] * gate[d];
    }
    return;
  }
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) {
    gate[d] = sigmoid(context[d] + own[d]);
    out[d] = h[d] * gate[d] * scale[d];
  }
}

CURNM_KERNEL void gated_row_backward(const float* h, const float* scale, const float* gate,
                                     const float* dout, std::int64_t width, float* dpre, float* dh,
                                     float* dscale) {
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) {
    const float scaled = scale == nullptr ? dout[d] : dout[d] * scale[d];
    dpre[d] = scaled * h[d] * gate[d] * (1 - gate[d]);
    if (dh != nullptr) dh[d] = scaled * gate[d];
    if (dscale != nullptr) dscale[d] = dout[d] * h[d] * gate[d];
  }
}

CURNM_KERNEL void adam_values(const AdamStep& step, const float* gradient, std::int64_t n,
                              float* parameter, float* mean, float* square) {
  const AdamStep s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] + s.decay * parameter[i];
    mean[i] = s.beta1 * mean[i] + s.one_minus_beta1 * g;
    square[i] = s.beta2 * square[i] + s.one_minus_beta2 * g * g;
    parameter[i] -= s.rate * mean[i] / (std::sqrt(square[i]) / s.square_correction + s.epsilon);
  }
}

/// Sums over long arrays are cut into this many parts whatever the number of threads.
constexpr int kParts = 64;

CURNM_KERNEL double sum_of(const float* x, std::int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

CURNM_KERNEL double squares_of(const float* x, std::int64_t n, float mean) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

CURNM_KERNEL double products_of(const float* x, const float* y, std::int64_t n, float mean) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * y[i];
  return sum;
}

CURNM_KERNEL void scale_and_shift(const float* x, std::int64_t n, float centre, float scale,
                                  float shift, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - centre) * scale + shift;
}

CURNM_KERNEL void standardise_part(const float* x, const float* dy, std::int64_t n, Moments of,
                                   float mean, float projection, float* dx) {
  const float rate = 1 / of.std;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = rate * (dy[i] - mean - (x[i] - of.mean) * rate * projection);
  }
}

/// The sum of sum(begin, count) over all parts of n values.
template <class Sum>
double sum_of_parts(std::int64_t n, const Sum& sum) {
  std::array<double, kParts> sums{};
  parallel_parts(n, kParts, [&](int part, std::int64_t begin, std::int64_t end) {
    sums[static_cast<std::size_t>(part)] = sum(begin, end - begin);
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

const float* row(const float* matrix, std::int64_t i, std::int64_t width) {
  return matrix == nullptr ? nullptr : matrix + i * width;
}
float* row(float* matrix, std::int64_t i, std::int64_t width) {
  return matrix == nullptr ? nullptr : matrix + i * width;
}

}  // namespace

void cosines(std::span<const double> dt, std::span<const double> frequency, float* out,
             std::int64_t stride) {
  parallel_for(std::ssize(dt), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      cosines_of(dt[static_cast<std::size_t>(i)], frequency.data(), std::ssize(frequency),
                 out + i * stride);
    }
  });
}

void cosines(std::span<const double> dt, std::span<const std::int32_t> counts,
             std::span<const double> frequency, float* out) {
  const std::int64_t width = std::ssize(frequency);
  const std::int64_t slots = counts.empty() ? 0 : std::ssize(dt) / std::ssize(counts);
  parallel_for(std::ssize(counts), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t last = r * slots + counts[static_cast<std::size_t>(r)];
      for (std::int64_t i = r * slots; i < last; ++i) {
        cosines_of(dt[static_cast<std::size_t>(i)], frequency.data(), width, out + i * width);
      }
    }
  });
}

void sines(std::span<const double> t, std::span<const double> frequency,
           std::span<const double> phase, float* out, float* slope) {
  const std::int64_t width = std::ssize(frequency);
  if (width == 0) return;  // there is no first column then
  parallel_for(std::ssize(t), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      sines_of(t[static_cast<std::size_t>(i)], frequency.data(), phase.data(), width,
               out + i * width, slope + i * width);
    }
  });
}

void sines_backward(std::span<const double> t, const float* slope, const float* dout,
                    std::span<double> dfrequency, std::span<double> dphase) {
  const std::size_t width = dphase.size();
  std::vector<double> sums(2 * kRowParts * width, 0);
  parallel_parts(std::ssize(t), kRowParts, [&](int part, std::int64_t begin, std::int64_t end) {
    double* sum = sums.data() + 2 * static_cast<std::size_t>(part) * width;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        const double gradient = static_cast<double>(dout[i * width + j]) * slope[i * width + j];
        sum[j] += gradient * t[i];
        sum[width + j] += gradient;
      }
    }
  });
  std::fill(dfrequency.begin(), dfrequency.end(), 0.0);
  std::fill(dphase.begin(), dphase.end(), 0.0);
  for (std::size_t part = 0; part < kRowParts; ++part) {
    for (std::size_t j = 0; j < width; ++j) {
      dfrequency[j] += sums[2 * part * width + j];
      dphase[j] += sums[(2 * part + 1) * width + j];
    }
  }
}

void dropout(Rng rng, double rate, float scale, std::span<float> mask) {
  dropout_of(rng, rate, scale, mask.data(), std::ssize(mask));
}

void gru(const GruInput& input, float* gates, float* out) {
  const std::int64_t width = input.width;
  parallel_for(input.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      gru_row(row(input.in, i, 3 * width), row(input.hidden, i, width),
              row(input.h, i, input.h_stride), width, row(gates, i, 3 * width), row(out, i, width));
    }
  });
}

void gru_backward(const GruInput& input, const float* gates, const float* dout, float* din,
                  float* dhidden) {
  const std::int64_t width = input.width;
  parallel_for(input.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      gru_row_backward(row(input.hidden, i, width), row(input.h, i, input.h_stride),
                       row(gates, i, 3 * width), row(dout, i, width), width, row(din, i, 3 * width),
                       row(dhidden, i, width));
    }
  });
}

void gated(const GatedInput& input, float* gate, float* out) {
  const std::int64_t width = input.width;
  parallel_for(input.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      gated_row(row(input.context, input.owner[static_cast<std::size_t>(i)], width),
                row(input.own, i, width), row(input.h, i, width), row(input.scale, i, width), width,
                row(gate, i, width), row(out, i, width));
    }
  });
}

void gated_backward(const GatedInput& input, const float* gate, const float* dout, float* dpre,
                    float* dh, float* dscale) {
  const std::int64_t width = input.width;
  parallel_for(input.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      gated_row_backward(row(input.h, i, width), row(input.scale, i, width), row(gate, i, width),
                         row(dout, i, width), width, row(dpre, i, width), row(dh, i, width),
                         row(dscale, i, width));
    }
  });
}

void standardise(const float* x, std::int64_t n, const Moments& of, float* y) {
  parallel_for(n, kValues, [&](std::int64_t begin, std::int64_t end) {
    scale_and_shift(x + begin, end - begin, of.mean, 1 / of.std, /*shift=*/1, y + begin);
  });
}

void standardise_backward(const float* x, std::int64_t n, const Moments& of, const float* dy,
                          double mean, double projection, float* dx) {
  parallel_for(n, kValues, [&](std::int64_t begin, std::int64_t end) {
    standardise_part(x + begin, dy + begin, end - begin, of, static_cast<float>(mean),
                     static_cast<float>(projection / of.std), dx + begin);
  });
}

double sum_of_values(const float* x, std::int64_t n) {
  return sum_of_parts(
      n, [&](std::int64_t begin, std::int64_t count) { return sum_of(x + begin, count); });
}

double sum_of_squares(const float* x, std::int64_t n, float centre) {
  return sum_of_parts(n, [&](std::int64_t begin, std::int64_t count) {
    return squares_of(x + begin, count, centre);
  });
}

double sum_of_products(const float* x, const float* y, std::int64_t n, float centre) {
  return sum_of_parts(n, [&](std::int64_t begin, std::int64_t count) {
    return products_of(x + begin, y + begin, count, centre);
  });
}

void adam(const AdamStep& step, const float* gradient, std::int64_t n, float* parameter,
          float* mean, float* square) {
  parallel_for(n, kValues, [&](std::int64_t begin, std::int64_t end) {
    adam_values(step, gradient + begin, end - begin, parameter + begin, mean + begin,
                square + begin);
  });
}

}  // namespace curnm::kernels
