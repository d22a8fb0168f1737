#include "curnm/nn/adam.h"

#include <cmath>

#include "curnm/base/error.h"
#include "curnm/kernels/elementwise.h"
#include "curnm/nn/kernel_tensors.h"

namespace curnm {

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  for (const Tensor& parameter : parameters_) {
    mean_.push_back(at::zeros_like(parameter.detach()));
    square_.push_back(at::zeros_like(parameter.detach()));
  }
}

void Adam::zero_grad() {
  for (Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
}

void Adam::step() {
  const NoGradGuard no_grad;
  ++steps_;
  const auto steps = static_cast<double>(steps_);
  const double mean_correction = 1 - std::pow(options_.beta1, steps);
  const double square_correction = std::sqrt(1 - std::pow(options_.beta2, steps));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor gradient = parameters_[i].grad();
    const double factor = i < options_.decaying ? 2 * options_.weight_decay : 0;
    if (!gradient.defined()) {
      if (factor == 0) continue;
      gradient = at::zeros_like(parameters_[i]);
    }
    if (has_kernels(options_.path, parameters_[i]) && parameters_[i].is_contiguous()) {
      gradient = gradient.contiguous();
      kernels::adam({.decay = static_cast<float>(factor),
                     .rate = static_cast<float>(options_.learning_rate / mean_correction),
                     .beta1 = static_cast<float>(options_.beta1),
                     .one_minus_beta1 = static_cast<float>(1 - options_.beta1),
                     .beta2 = static_cast<float>(options_.beta2),
                     .one_minus_beta2 = static_cast<float>(1 - options_.beta2),
                     .epsilon = static_cast<float>(options_.epsilon),
                     .square_correction = static_cast<float>(square_correction)},
                    float_data(gradient), gradient.numel(), float_data(parameters_[i]),
                    float_data(mean_[i]), float_data(square_[i]));
      continue;
    }
    if (factor != 0) gradient = gradient.add(parameters_[i], factor);
    mean_[i].mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
    square_[i].mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
    const Tensor scale = square_[i].sqrt().div_(square_correction).add_(options_.epsilon);
    parameters_[i].addcdiv_(mean_[i], scale, -options_.learning_rate / mean_correction);
  }
}

std::vector<Tensor> Adam::state() const {
  std::vector<Tensor> state = {at::full({}, steps_, at::kLong)};
  for (const Tensor& mean : mean_) state.push_back(mean.clone());
  for (const Tensor& square : square_) state.push_back(square.clone());
  return state;
}

void Adam::set_state(const std::vector<Tensor>& state) {
  const std::size_t count = parameters_.size();
  check_saved(
      state.size() == 1 + 2 * count && state[0].numel() == 1 && state[0].scalar_type() == at::kLong,
      "the saved optimiser is that of another model");
  steps_ = state[0].item<std::int64_t>();
  check_saved(steps_ >= 0, "the saved optimiser has made a negative number of steps");
  for (std::size_t i = 0; i < count; ++i) {
    check_saved(state[1 + i].sizes() == mean_[i].sizes() &&
                    state[1 + count + i].sizes() == square_[i].sizes(),
                "the saved optimiser is that of another model");
    mean_[i].copy_(state[1 + i]);
    square_[i].copy_(state[1 + count + i]);
  }
}

}  // namespace curnm
