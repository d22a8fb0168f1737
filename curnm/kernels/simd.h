#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

// Vector code without intrinsics: loops that the compiler vectorises (`#pragma omp simd`) and the
// compiler's own vector types, built once per instruction set; the loader picks a version at
// program start. So one binary runs on any x86-64-v2 machine and uses AVX2 or AVX-512 where they
// exist. Results depend on the input and the instruction set alone.

// Two kinds of build have one version of each kernel, for the instruction set of the whole build:
// clang's, because clang 14 accepts levels (arch=x86-64-v3) but does not check the processor for
// them, and g++'s with ThreadSanitizer, which crashes because its runtime is not ready when the
// loader picks.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define CURNM_KERNEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CURNM_KERNEL
#endif

// Small functions that kernels call must be compiled as part of them, for the same instruction set.
#define CURNM_INLINE inline __attribute__((always_inline))

namespace curnm::kernels {

/// Vectors of floats. The compiler maps them to whatever registers there are.
typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));

/// A vector at any address. A struct, because clang forgets the alignment of a typedef as soon as
/// there is a reference to it. Both compilers let a vector of floats alias floats; may_alias would
/// let it alias everything, and made the backward pass of attention 4 % slower.
template <class Vector>
struct __attribute__((packed)) Unaligned {
  Vector lanes;
};
CURNM_INLINE const Unaligned<Floats4>& four_at(const float* x) {
  return *reinterpret_cast<const Unaligned<Floats4>*>(x);
}
CURNM_INLINE Unaligned<Floats4>& four_at(float* x) {
  return *reinterpret_cast<Unaligned<Floats4>*>(x);
}
CURNM_INLINE const Unaligned<Floats8>& eight_at(const float* x) {
  return *reinterpret_cast<const Unaligned<Floats8>*>(x);
}
CURNM_INLINE Unaligned<Floats8>& eight_at(float* x) {
  return *reinterpret_cast<Unaligned<Floats8>*>(x);
}

/// A dot product, summed lane by lane. Written out because the rows of attention are short (86 and
/// 100 floats): compiled from a plain loop, adding up the lanes and the remaining floats one by one
/// took longer than everything else. Vectors have 8 lanes, as the registers of AVX2 do: g++ 12
/// keeps wider ones in memory there.
class DotSum {
 public:
  CURNM_INLINE void add(const float* a, const float* b, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      even_ += eight_at(a + i).lanes * eight_at(b + i).lanes;
      odd_ += eight_at(a + i + 8).lanes * eight_at(b + i + 8).lanes;
    }
    if (i + 8 <= n) {
      even_ += eight_at(a + i).lanes * eight_at(b + i).lanes;
      i += 8;
    }
    if (i + 4 <= n) {
      four_ += four_at(a + i).lanes * four_at(b + i).lanes;
      i += 4;
    }
    for (; i < n; ++i) rest_ += a[i] * b[i];
  }

  CURNM_INLINE float value() const {
    const Floats8 eight = even_ + odd_;
    const Floats4 four = four_ + __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                         __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    return (four[0] + four[2]) + (four[1] + four[3]) + rest_;
  }

 private:
  Floats8 even_ = {};
  Floats8 odd_ = {};
  Floats4 four_ = {};
  float rest_ = 0;
};

/// y += scale·x
CURNM_INLINE void axpy(float scale, const float* x, float* y, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) eight_at(y + i).lanes += scale * eight_at(x + i).lanes;
  if (i + 4 <= n) {
    four_at(y + i).lanes += scale * four_at(x + i).lanes;
    i += 4;
  }
  for (; i < n; ++i) y[i] += scale * x[i];
}

/// e^x with a relative error below 2e-7 for x in [-87, 88], beyond which it stays at e^-87
/// = 1.6e-38 and e^88 = 1.7e38. NaN gives NaN.
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
  // 2^k, from the integer k in the low bits of 1.5·2^23 + k. A cast to an integer would be
  // undefined for NaN; here NaN gives arbitrary bits, but p is NaN.
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(k + 12582912.0F) + 127;
  return p * std::bit_cast<float>(exponent << 23);
}

CURNM_INLINE float sigmoid(float x) { return 1 / (1 + exp(-x)); }
CURNM_INLINE float tanh(float x) { return 2 * sigmoid(2 * x) - 1; }

/// An angle as r + k·pi with |r| <= pi/2. It is reduced in double (pi in three parts, exact for k
/// up to 2^29), so that long gaps keep their phase.
struct ReducedAngle {
  float r;
  float sign;  // (-1)^k
};
CURNM_INLINE ReducedAngle reduced(double angle) {
  const double k = std::rint(angle * 0.31830988618379067);
  const double r =
      ((angle - k * 3.1415925025939941) - k * 1.5099578831723193e-07) - k * 1.0780605716316238e-14;
  const double half = k * 0.5;
  // Beyond that the phase is gradually lost; the result must still be within [-1, 1].
  constexpr double kHalfPi = 1.5707963267948966;
  return {static_cast<float>(std::min(std::max(r, -kHalfPi), kHalfPi)),
          static_cast<float>(1 - 4 * (half - std::floor(half)))};
}

/// cos of a double, as a float. Absolute error below 3e-7. NaN and infinities give NaN.
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

/// sin of a double, as a float. Absolute error below 3e-7; sine(0) is 0. NaN and infinities give
/// NaN.
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
