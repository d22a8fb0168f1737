#pragma once

#include <torch/torch.h>

#include "curnm/nn/fused.h"
#include "curnm/nn/path.h"

namespace curnm {

/// The logit of a link as a function of its weights: out(ReLU(W_s h_u + b_s + W_d h_v + b_d)).
///
/// The two projections are separate, so that a node that is asked about in many links is projected
/// once.
struct LinkFunction {
  torch::Tensor source_weight;       // [D,D]
  torch::Tensor source_bias;         // [D]
  torch::Tensor destination_weight;  // [D,D]
  torch::Tensor destination_bias;    // [D]
  torch::Tensor out_weight;          // [1,D]
  torch::Tensor out_bias;            // [1]
  Path path = Path::kFast;

  /// [n,D] -> [n,D]
  torch::Tensor source(const torch::Tensor& h) const;
  torch::Tensor destination(const torch::Tensor& h) const;
  /// destination(whole - part) from both projections: a difference needs no further product.
  torch::Tensor rest(const torch::Tensor& whole, const torch::Tensor& part) const;
  /// Projections [n,D], [n,D] -> [n]
  torch::Tensor logit(const torch::Tensor& source, const torch::Tensor& destination) const;
  /// The same for n pairs of rows of two tables.
  torch::Tensor logits(const torch::Tensor& sources, const torch::Tensor& source_of,
                       const torch::Tensor& destinations,
                       const torch::Tensor& destination_of) const;

  /// Two logits per pair whose destination is split: of a part's projection [n,D], and of the rest.
  SplitLogits split(const torch::Tensor& sources, const torch::Tensor& source_of,
                    const torch::Tensor& wholes, const torch::Tensor& whole_of,
                    const torch::Tensor& parts) const;

  /// The same function, without gradients for its weights.
  LinkFunction detached() const;
};

/// The trainable link function at the end of every model.
class EdgeDecoder : public torch::nn::Module {
 public:
  explicit EdgeDecoder(std::int64_t width, Path path = Path::kFast);

  LinkFunction function() const;

 private:
  torch::nn::Linear source_;
  torch::nn::Linear destination_;
  torch::nn::Linear out_;
  Path path_;
};

}  // namespace curnm
