#include "curnm/nn/statistics.h"

namespace curnm {

FittedStatistics::FittedStatistics(std::int64_t width)
    : ages_(register_fitted("ages", at::ones({2}, at::kDouble))),
      mean_(register_fitted("mean", at::zeros({width}))),
      deviation_(register_fitted("deviation", at::ones({width}))) {}

void FittedStatistics::fit(const AgeScale& ages,
                           const std::function<std::vector<float>(const AgeScale&)>& rows) {
  const std::array<double, 2> scale = {ages.unit, ages.never};
  const Standardisation found = Standardisation::of(rows(ages), mean_.size(0));
  ages_.copy_(to_tensor(scale, at::kCPU));
  mean_.copy_(to_tensor(found.mean, at::kCPU));
  deviation_.copy_(to_tensor(found.deviation, at::kCPU));
}

AgeScale FittedStatistics::ages() const {
  return {.unit = ages_[0].item<double>(), .never = ages_[1].item<double>()};
}

Tensor FittedStatistics::standardised(std::vector<float> rows,
                                      const at::TensorOptions& like) const {
  Standardisation scale{std::vector<float>(index(mean_.size(0))),
                        std::vector<float>(index(mean_.size(0)))};
  copy_to(mean_.to(at::kCPU), std::span(scale.mean));
  copy_to(deviation_.to(at::kCPU), std::span(scale.deviation));
  scale.apply(rows);
  return to_tensor(rows, at::kCPU).view({-1, mean_.size(0)}).to(like);
}

}  // namespace curnm
