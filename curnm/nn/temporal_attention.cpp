#include "curnm/nn/temporal_attention.h"

#include <cmath>

#include "curnm/nn/tensors.h"

namespace curnm {

TemporalAttention::TemporalAttention(const AttentionOptions& options)
    : options_(options),
      out_(register_module("out", torch::nn::Linear(2 * options.width, options.width))),
      norm_(register_module("norm",
                            torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.width})))) {
  if (options.time_width > 0) {
    encoding_ =
        register_module("time", std::make_shared<CosineTimeEncoding>(
                                    options.time_width, options.learned_time, options.time_scale));
  }
  query_ = projection("query", /*with_edges=*/false);
  key_ = projection("key", /*with_edges=*/true);
  value_ = projection("value", /*with_edges=*/true);
}

TemporalAttention::Projection TemporalAttention::projection(const std::string& name,
                                                            bool with_edges) {
  const auto linear = [&](const char* part, std::int64_t in, bool bias) {
    return register_module(
        name + "_" + part,
        torch::nn::Linear(torch::nn::LinearOptions(in, options_.width).bias(bias)));
  };
  Projection map;
  map.node = linear("node", options_.width, /*bias=*/true);
  if (with_edges && options_.edge_width > 0) map.edge = linear("edge", options_.edge_width, false);
  if (options_.time_width > 0) map.time = linear("time", options_.time_width, false);
  return map;
}

torch::Tensor TemporalAttention::per_neighbor(Projection& map, const torch::Tensor& states,
                                              const Neighborhood& hood,
                                              const torch::Tensor& encoded) {
  const auto rows = hood.neighbors.size(0);
  const auto width = hood.neighbors.size(1);
  torch::Tensor result = map.node(states).index_select(0, hood.neighbors.flatten());
  if (encoded.defined()) result = result + map.time(encoded).view_as(result);
  if (!map.edge.is_empty()) result = result + map.edge(hood.edges).view_as(result);
  return result.view({rows, width, options_.heads, -1});
}

torch::Tensor TemporalAttention::forward(const torch::Tensor& states, const Neighborhood& hood,
                                         const Rng& key) {
  const std::int64_t head_width = options_.width / options_.heads;
  const torch::Tensor own = states.index_select(0, hood.roots);  // [R,D]
  torch::Tensor query = query_.node(states).index_select(0, hood.roots);
  torch::Tensor encoded;
  if (encoding_) {
    encoded = encoding_->forward(hood.dt);  // [R,K,T]
    query = query + query_.time(encoding_->forward(torch::zeros({1}, hood.dt.options())));
  }
  query = query.view({-1, 1, options_.heads, head_width});
  const torch::Tensor keys = per_neighbor(key_, states, hood, encoded);      // [R,K,H,D/H]
  const torch::Tensor values = per_neighbor(value_, states, hood, encoded);  // [R,K,H,D/H]

  const torch::Tensor mask = hood.mask.unsqueeze(-1);  // [R,K,1]
  torch::Tensor weights = (query * keys).sum(-1) / std::sqrt(static_cast<double>(head_width));
  weights = torch::softmax(weights.masked_fill(~mask, -1e9), 1) * mask;  // [R,K,H]
  const double dropout = is_training() ? options_.dropout : 0;
  weights = keyed_dropout(weights, dropout, key.split(0));

  const torch::Tensor gathered = (weights.unsqueeze(-1) * values).sum(1).flatten(1);  // [R,D]
  const torch::Tensor mixed = out_(torch::cat({gathered, own}, 1));
  return norm_(torch::relu(keyed_dropout(mixed, dropout, key.split(1))));
}

}  // namespace curnm
