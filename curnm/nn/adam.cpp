#include "curnm/nn/adam.h"

#include <cmath>

#include "curnm/base/error.h"
#include "curnm/nn/kernels/elementwise.h"

namespace curnm {

Adam::Adam(std::vector<torch::Tensor> parameters, const AdamOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  for (const torch::Tensor& parameter : parameters_) {
    mean_.push_back(torch::zeros_like(parameter.detach()));
    square_.push_back(torch::zeros_like(parameter.detach()));
  }
}

void Adam::zero_grad() {
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad() = torch::Tensor();
}

void Adam::step(double decay) {
  const torch::NoGradGuard no_grad;
  ++steps_;
  const auto steps = static_cast<double>(steps_);
  const double mean_correction = 1 - std::pow(options_.beta1, steps);
  const double square_correction = std::sqrt(1 - std::pow(options_.beta2, steps));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor gradient = parameters_[i].grad();
    const double factor = i < options_.decaying ? 2 * decay : 0;
    if (!gradient.defined()) {
      if (factor == 0) continue;
      gradient = torch::zeros_like(parameters_[i]);
    }
    if (has_kernels(options_.path, parameters_[i])) {
      kernels::adam({.decay = static_cast<float>(factor),
                     .rate = static_cast<float>(options_.learning_rate / mean_correction),
                     .beta1 = static_cast<float>(options_.beta1),
                     .one_minus_beta1 = static_cast<float>(1 - options_.beta1),
                     .beta2 = static_cast<float>(options_.beta2),
                     .one_minus_beta2 = static_cast<float>(1 - options_.beta2),
                     .epsilon = static_cast<float>(options_.epsilon),
                     .square_correction = static_cast<float>(square_correction)},
                    gradient.contiguous().data_ptr<float>(), gradient.numel(),
                    parameters_[i].data_ptr<float>(), mean_[i].data_ptr<float>(),
                    square_[i].data_ptr<float>());
      continue;
    }
    if (factor != 0) gradient = gradient.add(parameters_[i], factor);
    mean_[i].mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
    square_[i].mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
    const torch::Tensor scale = square_[i].sqrt().div_(square_correction).add_(options_.epsilon);
    parameters_[i].addcdiv_(mean_[i], scale, -options_.learning_rate / mean_correction);
  }
}

std::vector<torch::Tensor> Adam::state() const {
  std::vector<torch::Tensor> state = {torch::tensor(steps_, torch::kInt64)};
  for (const torch::Tensor& mean : mean_) state.push_back(mean.clone());
  for (const torch::Tensor& square : square_) state.push_back(square.clone());
  return state;
}

void Adam::set_state(const std::vector<torch::Tensor>& state) {
  const std::size_t count = parameters_.size();
  CURNM_ASSERT(state.size() == 1 + 2 * count);
  steps_ = state[0].item<std::int64_t>();
  for (std::size_t i = 0; i < count; ++i) {
    mean_[i].copy_(state[1 + i]);
    square_[i].copy_(state[1 + count + i]);
  }
}

}  // namespace curnm
