#pragma once

#include <span>

#include "curnm/nn/module.h"
#include "curnm/nn/time_frequencies.h"

namespace curnm {

/// phi(dt) = cos(w·dt + b), the time encoding of TGAT and TGN (Xu et al. 2020, arXiv 2002.07962v1).
///
/// Fixed (default): w log-spaced from kHighestTimeFrequency to kLowestTimeFrequency and b = 0,
/// never trained. On raw seconds, one Adam step of 1e-4 would turn the phase of a gap of a million
/// seconds by 100 radians. Learned: w and b are parameters and dt is divided by `scale` first, so
/// that a step stays small.
///
/// Phases are computed and reduced in double: float would lose the phase of long gaps.
class CosineTimeEncoding : public Module {
 public:
  CosineTimeEncoding(std::int64_t width, bool learned, double scale);

  /// dt of any shape, double -> [..., width], float.
  Tensor forward(const Tensor& dt) const;
  /// The same without gradients, by the vector kernel. [n] -> [n,width]
  Tensor encode(std::span<const double> dt) const;
  /// Into the columns of a matrix.
  void encode_into(std::span<const double> dt, const Tensor& out) const;
  /// The first `counts[r]` of each K gaps; the other rows are undefined. [n·K] -> [n·K,width]
  Tensor encode(std::span<const double> dt, std::span<const std::int32_t> counts) const;
  std::int64_t width() const { return frequency_.size(0); }

 private:
  std::span<const double> frequencies() const;

  Tensor frequency_;  // [width], double
  Tensor phase_;      // [width], double
  double scale_;
};

}  // namespace curnm
