#pragma once

#include <functional>

#include "curnm/nn/tensors.h"
#include "curnm/sampling/pair_statistics.h"

namespace curnm {

/// The scales that turn statistics into inputs of a network: fitted to the training events once,
/// then weights like any others.
class FittedStatistics final : public Module {
 public:
  explicit FittedStatistics(std::int64_t width);

  /// `rows` makes some typical rows, given the scale of ages.
  void fit(const AgeScale& ages, const std::function<std::vector<float>(const AgeScale&)>& rows);

  AgeScale ages() const;
  /// The rows as inputs, [n,width], of that device and type.
  Tensor standardised(std::vector<float> rows, const at::TensorOptions& like) const;

 private:
  Tensor ages_;       // [2], double: unit, never
  Tensor mean_;       // [width]
  Tensor deviation_;  // [width]
};

}  // namespace curnm
