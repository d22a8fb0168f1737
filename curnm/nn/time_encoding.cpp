#include "curnm/nn/time_encoding.h"

#include <cmath>
#include <numbers>

#include "curnm/base/error.h"
#include "curnm/kernels/elementwise.h"
#include "curnm/nn/kernel_tensors.h"

namespace curnm {

CosineTimeEncoding::CosineTimeEncoding(std::int64_t width, bool learned, double scale)
    : scale_(learned ? scale : 1) {
  const Tensor frequency = at::pow(
      10.0, at::linspace(std::log10(kHighestTimeFrequency), std::log10(kLowestTimeFrequency), width,
                         at::TensorOptions(at::kDouble)));
  const Tensor phase = at::zeros({width}, at::kDouble);
  frequency_ = learned ? register_parameter("frequency", frequency)
                       : register_buffer("frequency", frequency);
  phase_ = learned ? register_parameter("phase", phase) : register_buffer("phase", phase);
}

Tensor CosineTimeEncoding::forward(const Tensor& dt) const {
  const Tensor angle = (dt / scale_).unsqueeze(-1) * frequency_ + phase_;
  return at::remainder(angle, 2 * std::numbers::pi).to(at::kFloat).cos();
}

Tensor CosineTimeEncoding::encode(std::span<const double> dt) const {
  Tensor out = at::empty({std::ssize(dt), width()}, at::kFloat);
  encode_into(dt, out);
  return out;
}

void CosineTimeEncoding::encode_into(std::span<const double> dt, const Tensor& out) const {
  kernels::cosines(dt, frequencies(), row_data(out), row_stride(out));
}

Tensor CosineTimeEncoding::encode(std::span<const double> dt,
                                  std::span<const std::int32_t> counts) const {
  Tensor out = at::empty({std::ssize(dt), width()}, at::kFloat);
  kernels::cosines(dt, counts, frequencies(), float_data(out));
  return out;
}

std::span<const double> CosineTimeEncoding::frequencies() const {
  CURNM_ASSERT(!frequency_.requires_grad() && frequency_.is_contiguous());
  return {frequency_.data_ptr<double>(), static_cast<std::size_t>(width())};
}

}  // namespace curnm
