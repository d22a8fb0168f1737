#include "curnm/nn/edge_decoder.h"

namespace curnm {

EdgeDecoder::EdgeDecoder(std::int64_t width)
    : source_(register_module("source", torch::nn::Linear(width, width))),
      destination_(register_module("destination", torch::nn::Linear(width, width))),
      out_(register_module("out", torch::nn::Linear(width, 1))) {}

torch::Tensor EdgeDecoder::forward(const torch::Tensor& source, const torch::Tensor& destination) {
  return out_(torch::relu(source_(source) + destination_(destination))).squeeze(-1);
}

}  // namespace curnm
