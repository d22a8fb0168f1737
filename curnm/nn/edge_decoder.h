#pragma once

#include <torch/torch.h>

namespace curnm {

/// The logit of a link: out(ReLU(W_s h_u + W_d h_v)).
class EdgeDecoder : public torch::nn::Module {
 public:
  explicit EdgeDecoder(std::int64_t width);

  /// [n,D], [n,D] -> [n]
  torch::Tensor forward(const torch::Tensor& source, const torch::Tensor& destination);

 private:
  torch::nn::Linear source_;
  torch::nn::Linear destination_;
  torch::nn::Linear out_;
};

}  // namespace curnm
