#include "curnm/miners/curnm/objective.h"

#include "curnm/nn/fused.h"

namespace curnm {

torch::Tensor closeness(const FactorLogits& logits, double beta) {
  const torch::Tensor relevant = (logits.positive_relevant - logits.negative_relevant).abs();
  const torch::Tensor irrelevant = (logits.positive_irrelevant - logits.negative_irrelevant).abs();
  return -beta * relevant - (2 - beta) * irrelevant;
}

torch::Tensor contrastive_loss(const FactorLogits& logits, std::string_view kind, Path path) {
  const bool raw = kind == "raw";
  const auto score = [&](const torch::Tensor& x) { return raw ? sigmoid_of(x) : x; };
  const torch::Tensor positive_r = score(logits.positive_relevant);
  const torch::Tensor positive_ir = score(logits.positive_irrelevant);
  const torch::Tensor negative_r = score(logits.negative_relevant);
  const torch::Tensor negative_ir = score(logits.negative_irrelevant);
  const auto loss = [&](const torch::Tensor& difference) {
    return raw ? -difference : softplus_of(-difference) / 4;
  };
  return mean(loss(positive_r - positive_ir) + loss(positive_r - negative_r) +
                  loss(negative_ir - negative_r) + loss(negative_ir - positive_ir),
              path);
}

torch::Tensor squared_norm(const std::vector<torch::Tensor>& parameters, Path path) {
  if (has_kernels(path, parameters.front())) return squared_sum(parameters);
  torch::Tensor sum = torch::zeros({}, parameters.front().options().dtype(torch::kFloat32));
  for (const torch::Tensor& parameter : parameters) {
    sum = sum + parameter.square().sum().to(torch::kFloat32);
  }
  return sum;
}

torch::Tensor total_loss(const LossParts& parts, double delta, double lambda, double mu) {
  return parts.positive + delta * parts.random + (1 - delta) * parts.selected +
         lambda * parts.contrastive + mu * parts.squared_norm;
}

}  // namespace curnm
