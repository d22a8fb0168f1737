#include "curnm/miners/curnm/factors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "curnm/nn/fused.h"

namespace curnm {

Tensor normalise(const Tensor& x, Path path, const BatchParts& parts) {
  if (has_kernels(path, x)) return standardise(x, parts);
  // Parts meet on the CPU.
  if (!parts.whole()) return standardise(x.to(at::kCPU, at::kFloat), parts).to(x.options());
  const Tensor centred = x - x.mean();
  const Tensor spread = centred.square().mean().sqrt();
  // Differences that are only rounding errors must not be amplified, nor their gradients.
  if (spread.item<double>() <= 1e-6 * x.detach().abs().max().item<double>()) {
    return at::ones_like(x);
  }
  return centred / spread + 1;
}

Time2Vec::Time2Vec(std::int64_t hidden, std::int64_t width, double shortest, Path path)
    : path_(path), out_(register_module("out", std::make_shared<Linear>(hidden, width))) {
  const double turns = std::max(1 / shortest, 1.0);
  const at::TensorOptions in_double(at::kDouble);
  Tensor frequency = 2 * std::numbers::pi *
                     at::pow(10.0, at::linspace(0, std::log10(turns), hidden - 1, in_double));
  frequency = at::cat({at::ones({1}, in_double), frequency});
  frequency_ = register_parameter("frequency", frequency);
  phase_ = register_parameter("phase", at::zeros({hidden}, in_double));
}

Tensor Time2Vec::encode(const Tensor& t) const {
  if (has_kernels(path_, out_->weight)) return sines(t, frequency_, phase_);
  const Tensor angle = t.unsqueeze(-1) * frequency_ + phase_;
  return at::cat({angle.narrow(1, 0, 1), angle.narrow(1, 1, angle.size(1) - 1).sin()}, 1)
      .to(out_->weight.scalar_type());
}

Tensor Time2Vec::forward(const Tensor& t) { return linear(encode(t), *out_, path_); }

Tensor Time2Vec::sum(const Tensor& a, const Tensor& b) {
  return linear(encode(a) + encode(b), out_->weight, 2 * out_->bias, path_);
}

Gate::Gate(std::int64_t width, Path path)
    : path_(path),
      context_(
          register_module("context", std::make_shared<Linear>(width, width, /*with_bias=*/false))),
      own_(register_module("own", std::make_shared<Linear>(width, width))) {}

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

Factor Factors::positive(const Tensor& h_u, const Tensor& h_v, const Tensor& t,
                         const BatchParts& parts) {
  Factor factor{.gate = sigmoid_of(positive_gate_->context(h_u) + positive_gate_->own(h_v))};
  factor.relevant = h_v * factor.gate;
  if (time2vec_)
    factor.relevant = factor.relevant * normalise(time2vec_->forward(t), options_.path, parts);
  return factor;
}

Tensor Factors::recency(const Tensor& met, const Tensor& seen, const BatchParts& parts) {
  if (!time2vec_) return {};
  return normalise(time2vec_->sum(met, seen), options_.path, parts);
}

Factor Factors::negative(const Factor& positive, const Tensor& owner, const Tensor& h_v,
                         const Tensor& recency) {
  const Tensor context = negative_gate_->context(positive.relevant);
  const Tensor own = negative_gate_->own(h_v);
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
