#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// Vector code without intrinsics: loops that the compiler vectorises (`#pragma omp simd`) and
// vectors of its own, compiled once per instruction set and chosen when the program starts. So one
// binary runs on any x86-64-v2 machine, and uses AVX2 or AVX-512 where they are. Results are a
// function of the input and the instruction set alone.

#if defined(__x86_64__) && defined(__GNUC__)
#define CURNM_KERNEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CURNM_KERNEL
#endif

// Small functions that kernels call must become part of them, whatever their instruction set.
#define CURNM_INLINE inline __attribute__((always_inline))

namespace curnm::kernels {

/// Vectors of floats anywhere in memory. The compiler makes them of whatever registers there are.
template <int kLanes>
struct Lanes {
  typedef float Type __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
};
template <int kLanes>
using Floats = typename Lanes<kLanes>::Type;

template <int kLanes>
CURNM_INLINE const Floats<kLanes>& floats(const float* x) {
  return *reinterpret_cast<const Floats<kLanes>*>(x);
}
template <int kLanes>
CURNM_INLINE Floats<kLanes>& floats(float* x) {
  return *reinterpret_cast<Floats<kLanes>*>(x);
}

/// A sum of products over lanes. Written out, because rows of attention are short (86 and 100
/// floats): left to the compiler, the sum over the lanes and the floats that fill no vector, both
/// one by one, took longer than the rest. Vectors have 8 lanes, which AVX2 has registers for: g++
/// 12 keeps wider ones in memory there.
class DotSum {
 public:
  CURNM_INLINE void add(const float* a, const float* b, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      even_ += floats<8>(a + i) * floats<8>(b + i);
      odd_ += floats<8>(a + i + 8) * floats<8>(b + i + 8);
    }
    if (i + 8 <= n) {
      even_ += floats<8>(a + i) * floats<8>(b + i);
      i += 8;
    }
    if (i + 4 <= n) {
      four_ += floats<4>(a + i) * floats<4>(b + i);
      i += 4;
    }
    for (; i < n; ++i) rest_ += a[i] * b[i];
  }

  CURNM_INLINE float value() const {
    const Floats<8> eight = even_ + odd_;
    const Floats<4> four = four_ + __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                           __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    return (four[0] + four[2]) + (four[1] + four[3]) + rest_;
  }

 private:
  Floats<8> even_ = {};
  Floats<8> odd_ = {};
  Floats<4> four_ = {};
  float rest_ = 0;
};

/// y += scale·x
CURNM_INLINE void axpy(float scale, const float* x, float* y, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) floats<8>(y + i) += scale * floats<8>(x + i);
  if (i + 4 <= n) {
    floats<4>(y + i) += scale * floats<4>(x + i);
    i += 4;
  }
  for (; i < n; ++i) y[i] += scale * x[i];
}

/// e^x with a relative error below 2e-7; 0 and a huge number beyond the range of floats.
CURNM_INLINE float exp(float x) {
  const float clamped = x < -87 ? -87.0F : (x > 88 ? 88.0F : x);
  const float k = std::rint(clamped * 1.44269504F);
  const float r = (clamped - k * 0.693359375F) + k * 2.12194440e-4F;  // ln 2 in two parts
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1;
  return p * std::bit_cast<float>((static_cast<std::int32_t>(k) + 127) << 23);
}

CURNM_INLINE float sigmoid(float x) { return 1 / (1 + exp(-x)); }
CURNM_INLINE float tanh(float x) { return 2 * sigmoid(2 * x) - 1; }

/// An angle as r + k·pi with |r| <= pi/2. It is reduced in double (three parts of pi, exact up to
/// 2^29 of them), so that long gaps keep their phase.
struct ReducedAngle {
  float r;
  float sign;  // (-1)^k
};
CURNM_INLINE ReducedAngle reduced(double angle) {
  const double k = std::rint(angle * 0.31830988618379067);
  const double r =
      ((angle - k * 3.1415925025939941) - k * 1.5099578831723193e-07) - k * 1.0780605716316238e-14;
  const double half = k * 0.5;
  // Of gaps beyond that the phase is lost, by and by; what they give must still be a cosine.
  constexpr double kHalfPi = 1.5707963267948966;
  return {static_cast<float>(std::min(std::max(r, -kHalfPi), kHalfPi)),
          static_cast<float>(1 - 4 * (half - std::floor(half)))};
}

/// cos of a double, as a float. Absolute error below 3e-7.
CURNM_INLINE float cosine(double angle) {
  const ReducedAngle a = reduced(angle);
  const float x = a.r * a.r;
  float p = -2.6051615e-07F;
  p = p * x + 2.4760495e-05F;
  p = p * x - 1.3888378e-03F;
  p = p * x + 4.1666638e-02F;
  p = p * x - 0.5F;
  p = p * x + 1;
  return a.sign * p;
}

/// sin of a double, as a float. Absolute error below 3e-7; sine(0) is 0.
CURNM_INLINE float sine(double angle) {
  const ReducedAngle a = reduced(angle);
  const float x = a.r * a.r;
  float p = -2.5052108e-08F;
  p = p * x + 2.7557319e-06F;
  p = p * x - 1.9841270e-04F;
  p = p * x + 8.3333333e-03F;
  p = p * x - 1.6666667e-01F;
  return a.sign * (a.r + a.r * x * p);
}

}  // namespace curnm::kernels
