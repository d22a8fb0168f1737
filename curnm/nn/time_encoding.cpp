#include "curnm/nn/time_encoding.h"

#include <cmath>
#include <numbers>

#include "curnm/base/error.h"
#include "curnm/nn/kernels/elementwise.h"

namespace curnm {

CosineTimeEncoding::CosineTimeEncoding(std::int64_t width, bool learned, double scale)
    : scale_(learned ? scale : 1) {
  const torch::Tensor frequency =
      torch::pow(10.0, torch::linspace(std::log10(kHighest), std::log10(kLowest), width,
                                       torch::TensorOptions(torch::kFloat64)));
  const torch::Tensor phase = torch::zeros({width}, torch::kFloat64);
  frequency_ = learned ? register_parameter("frequency", frequency)
                       : register_buffer("frequency", frequency);
  phase_ = learned ? register_parameter("phase", phase) : register_buffer("phase", phase);
}

torch::Tensor CosineTimeEncoding::forward(const torch::Tensor& dt) const {
  const torch::Tensor angle = (dt / scale_).unsqueeze(-1) * frequency_ + phase_;
  return torch::remainder(angle, 2 * std::numbers::pi).to(torch::kFloat32).cos();
}

torch::Tensor CosineTimeEncoding::encode(std::span<const double> dt) const {
  torch::Tensor out = torch::empty({std::ssize(dt), width()}, torch::kFloat32);
  encode_into(dt, out);
  return out;
}

void CosineTimeEncoding::encode_into(std::span<const double> dt, const torch::Tensor& out) const {
  kernels::cosines(dt, frequencies(), out.data_ptr<float>(), out.stride(0));
}

torch::Tensor CosineTimeEncoding::encode(std::span<const double> dt,
                                         std::span<const std::int32_t> counts) const {
  torch::Tensor out = torch::empty({std::ssize(dt), width()}, torch::kFloat32);
  kernels::cosines(dt, counts, frequencies(), out.data_ptr<float>());
  return out;
}

std::span<const double> CosineTimeEncoding::frequencies() const {
  CURNM_ASSERT(!frequency_.requires_grad());
  return {frequency_.data_ptr<double>(), static_cast<std::size_t>(width())};
}

}  // namespace curnm
