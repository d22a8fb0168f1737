#include "curnm/miners/curnm/factors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "curnm/nn/fused.h"

namespace curnm {

torch::Tensor normalise(const torch::Tensor& x, Path path) {
  if (has_kernels(path, x)) return standardise(x);
  const torch::Tensor centred = x - x.mean();
  const torch::Tensor spread = centred.square().mean().sqrt();
  // Differences that are mere rounding must not be blown up, nor their gradients.
  if (spread.item<double>() <= 1e-6 * x.detach().abs().max().item<double>()) {
    return torch::ones_like(x);
  }
  return centred / spread + 1;
}

Time2Vec::Time2Vec(std::int64_t hidden, std::int64_t width, double shortest, Path path)
    : path_(path), out_(register_module("out", torch::nn::Linear(hidden, width))) {
  const double turns = std::max(1 / shortest, 1.0);
  const torch::TensorOptions in_double(torch::kFloat64);
  torch::Tensor frequency =
      2 * std::numbers::pi *
      torch::pow(10.0, torch::linspace(0, std::log10(turns), hidden - 1, in_double));
  frequency = torch::cat({torch::ones({1}, in_double), frequency});
  frequency_ = register_parameter("frequency", frequency);
  phase_ = register_parameter("phase", torch::zeros({hidden}, in_double));
}

torch::Tensor Time2Vec::encode(const torch::Tensor& t) const {
  if (has_kernels(path_, out_->weight)) return sines(t, frequency_, phase_);
  const torch::Tensor angle = t.unsqueeze(-1) * frequency_ + phase_;
  return torch::cat({angle.narrow(1, 0, 1), angle.narrow(1, 1, angle.size(1) - 1).sin()}, 1)
      .to(out_->weight.scalar_type());
}

torch::Tensor Time2Vec::forward(const torch::Tensor& t) { return linear(encode(t), out_, path_); }

torch::Tensor Time2Vec::sum(const torch::Tensor& a, const torch::Tensor& b) {
  return linear(encode(a) + encode(b), out_->weight, 2 * out_->bias, path_);
}

Gate::Gate(std::int64_t width, Path path)
    : path_(path),
      context_(register_module(
          "context", torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(false)))),
      own_(register_module("own", torch::nn::Linear(width, width))) {}

Factors::Factors(const Options& options)
    : options_(options),
      positive_gate_(
          register_module("positive_gate", std::make_shared<Gate>(options.width, options.path))),
      negative_gate_(
          register_module("negative_gate", std::make_shared<Gate>(options.width, options.path))) {
  if (!options.temporal) return;
  time2vec_ =
      register_module("time2vec", std::make_shared<Time2Vec>(options.time2vec_width, options.width,
                                                             options.shortest_time, options.path));
}

Factor Factors::positive(const torch::Tensor& h_u, const torch::Tensor& h_v,
                         const torch::Tensor& t) {
  Factor factor{.gate = sigmoid_of(positive_gate_->context(h_u) + positive_gate_->own(h_v))};
  factor.relevant = h_v * factor.gate;
  if (time2vec_)
    factor.relevant = factor.relevant * normalise(time2vec_->forward(t), options_.path);
  return factor;
}

torch::Tensor Factors::recency(const torch::Tensor& met, const torch::Tensor& seen) {
  if (!time2vec_) return {};
  return normalise(time2vec_->sum(met, seen), options_.path);
}

Factor Factors::negative(const Factor& positive, const torch::Tensor& owner,
                         const torch::Tensor& h_v, const torch::Tensor& recency) {
  const torch::Tensor context = negative_gate_->context(positive.relevant);
  const torch::Tensor own = negative_gate_->own(h_v);
  Factor factor;
  if (has_kernels(options_.path, h_v)) {
    factor.relevant = gated(context, owner, own, h_v, recency, &factor.gate);
    return factor;
  }
  factor.gate = sigmoid_of(context.index_select(0, owner) + own);
  factor.relevant = h_v * factor.gate;
  if (recency.defined()) factor.relevant = factor.relevant * recency;
  return factor;
}

}  // namespace curnm
