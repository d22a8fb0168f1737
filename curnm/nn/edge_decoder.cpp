#include "curnm/nn/edge_decoder.h"

#include "curnm/nn/linear.h"

namespace curnm {

torch::Tensor LinkFunction::source(const torch::Tensor& h) const {
  return linear(h, source_weight, source_bias, path);
}

torch::Tensor LinkFunction::destination(const torch::Tensor& h) const {
  return linear(h, destination_weight, destination_bias, path);
}

torch::Tensor LinkFunction::rest(const torch::Tensor& whole, const torch::Tensor& part) const {
  return whole - part + destination_bias;
}

torch::Tensor LinkFunction::logit(const torch::Tensor& source,
                                  const torch::Tensor& destination) const {
  return torch::linear(torch::relu(source + destination), out_weight, out_bias).squeeze(-1);
}

torch::Tensor LinkFunction::logits(const torch::Tensor& sources, const torch::Tensor& source_of,
                                   const torch::Tensor& destinations,
                                   const torch::Tensor& destination_of) const {
  if (has_kernels(path, sources)) {
    return link_logits(sources, source_of, destinations, destination_of, out_weight, out_bias);
  }
  return logit(sources.index_select(0, source_of), destinations.index_select(0, destination_of));
}

SplitLogits LinkFunction::split(const torch::Tensor& sources, const torch::Tensor& source_of,
                                const torch::Tensor& wholes, const torch::Tensor& whole_of,
                                const torch::Tensor& parts) const {
  if (has_kernels(path, sources)) {
    return split_logits(sources, source_of, wholes, whole_of, parts, out_weight, out_bias,
                        destination_bias);
  }
  const torch::Tensor from = sources.index_select(0, source_of);
  return {logit(from, parts), logit(from, rest(wholes.index_select(0, whole_of), parts))};
}

LinkFunction LinkFunction::detached() const {
  return {source_weight.detach(),
          source_bias.detach(),
          destination_weight.detach(),
          destination_bias.detach(),
          out_weight.detach(),
          out_bias.detach(),
          path};
}

EdgeDecoder::EdgeDecoder(std::int64_t width, Path path)
    : source_(register_module("source", torch::nn::Linear(width, width))),
      destination_(register_module("destination", torch::nn::Linear(width, width))),
      out_(register_module("out", torch::nn::Linear(width, 1))),
      path_(path) {}

LinkFunction EdgeDecoder::function() const {
  return {source_->weight, source_->bias, destination_->weight, destination_->bias, out_->weight,
          out_->bias,      path_};
}

}  // namespace curnm
