#include "curnm/nn/temporal_attention.h"

#include <cmath>

#include "curnm/nn/fused.h"
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
                                              const torch::Tensor& rows,
                                              const torch::Tensor& encoded,
                                              const torch::Tensor& edges) {
  torch::Tensor result = map.node(states).index_select(0, rows.flatten());
  if (encoded.defined()) result = result + map.time(encoded).view_as(result);
  if (edges.defined()) result = result + map.edge(edges);
  return result.view({rows.size(0), rows.size(1), options_.heads, -1});
}

torch::Tensor TemporalAttention::forward(const torch::Tensor& states, const Neighborhood& hood,
                                         const Rng& key) {
  const bool phases_are_fixed = !encoding_ || !options_.learned_time;
  return phases_are_fixed && has_kernels(options_.path, states) ? fast(states, hood, key)
                                                                : plain(states, hood, key);
}

torch::Tensor TemporalAttention::plain(const torch::Tensor& states, const Neighborhood& hood,
                                       const Rng& key) {
  const torch::Device device = states.device();
  const std::int64_t head_width = options_.width / options_.heads;
  const torch::Tensor roots = to_tensor(hood.roots, device);
  const torch::Tensor rows = to_tensor(hood.rows, device).view({-1, hood.neighbors});
  const torch::Tensor own = states.index_select(0, roots);  // [R,D]
  torch::Tensor query = query_.node(states).index_select(0, roots);
  torch::Tensor encoded;
  if (encoding_) {
    const torch::Tensor dt = to_tensor(hood.dt, device);
    encoded = encoding_->forward(dt);  // [R·K,T]
    query = query + query_.time(encoding_->forward(torch::zeros({1}, dt.options())));
  }
  torch::Tensor edges;
  if (!key_.edge.is_empty()) edges = hood.edges.index_select(0, to_tensor(hood.events, device));
  query = query.view({-1, 1, options_.heads, head_width});
  const torch::Tensor keys = per_neighbor(key_, states, rows, encoded, edges);
  const torch::Tensor values = per_neighbor(value_, states, rows, encoded, edges);

  const torch::Tensor slots = torch::arange(hood.neighbors, rows.options());
  const torch::Tensor mask =
      slots.lt(to_tensor(hood.counts, device).unsqueeze(1)).unsqueeze(-1);  // [R,K,1]
  torch::Tensor weights = (query * keys).sum(-1) / std::sqrt(static_cast<double>(head_width));
  weights = torch::softmax(weights.masked_fill(~mask, -1e9), 1) * mask;  // [R,K,H]
  const double dropout = is_training() ? options_.dropout : 0;
  weights = keyed_dropout(weights, dropout, key.split(0));

  const torch::Tensor gathered = (weights.unsqueeze(-1) * values).sum(1).flatten(1);  // [R,D]
  const torch::Tensor mixed = out_(torch::cat({gathered, own}, 1));
  return norm_(torch::relu(keyed_dropout(mixed, dropout, key.split(1))));
}

torch::Tensor TemporalAttention::fast(const torch::Tensor& states, const Neighborhood& hood,
                                      const Rng& key) {
  const std::int64_t width = options_.width;
  const auto roots = static_cast<std::int64_t>(hood.roots.size());
  const double dropout = is_training() ? options_.dropout : 0;
  auto plan = std::make_shared<AttentionPlan>(AttentionPlan{
      .heads = options_.heads,
      .neighbors = hood.neighbors,
      .queries = hood.roots,
      .counts = hood.counts,
      .rows = hood.rows,
      .weight_mask = dropout_mask({roots, hood.neighbors, options_.heads}, dropout, key.split(0)),
      .output_mask = dropout_mask({roots, width}, dropout, key.split(1))});
  const torch::Tensor of_roots = states.narrow(0, 0, hood.num_roots);
  AttentionTensors tensors{
      .q = query_.node(of_roots),
      .kv = torch::linear(states, torch::cat({key_.node->weight, value_.node->weight}),
                          torch::cat({key_.node->bias, value_.node->bias})),
      .own = torch::linear(of_roots, out_->weight.narrow(1, width, width), out_->bias),
      .out = out_->weight.narrow(1, 0, width),
      .gamma = norm_->weight,
      .beta = norm_->bias};
  // W^T q, head by head. [Q,H·T]
  const auto queries_of = [&](const torch::Tensor& map) {
    std::vector<torch::Tensor> heads;
    for (std::int64_t h = 0; h < options_.heads; ++h) {
      const std::int64_t head_width = width / options_.heads;
      heads.push_back(tensors.q.narrow(1, h * head_width, head_width)
                          .mm(map.narrow(0, h * head_width, head_width)));
    }
    return torch::cat(heads, 1);
  };
  if (encoding_) {
    plan->phi = encoding_->encode(hood.dt);
    const std::vector<double> now = {0.0};
    tensors.q = tensors.q + query_.time(encoding_->encode(now));
    tensors.qt = queries_of(key_.time->weight);
    tensors.value_time = value_.time->weight;
  }
  if (!key_.edge.is_empty()) {
    plan->features = hood.events;
    plan->edges = hood.edges;
    tensors.qe = queries_of(key_.edge->weight);
    tensors.value_edge = value_.edge->weight;
  }
  return attention(tensors, std::move(plan));
}

}  // namespace curnm
