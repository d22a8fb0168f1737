#include "curnm/nn/temporal_attention.h"

#include <cmath>

#include "curnm/nn/fused_attention.h"
#include "curnm/nn/tensors.h"

namespace curnm {

TemporalAttention::TemporalAttention(const AttentionOptions& options)
    : options_(options),
      out_(register_module("out", std::make_shared<Linear>(2 * options.width, options.width))),
      norm_(register_module("norm", std::make_shared<LayerNorm>(options.width))) {
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
    return register_module(name + "_" + part, std::make_shared<Linear>(in, options_.width, bias));
  };
  Projection map;
  map.node = linear("node", options_.width, /*bias=*/true);
  if (with_edges && options_.edge_width > 0) map.edge = linear("edge", options_.edge_width, false);
  if (options_.time_width > 0) map.time = linear("time", options_.time_width, false);
  return map;
}

Tensor TemporalAttention::per_neighbor(const Projection& map, const Tensor& states,
                                       const Tensor& rows, const Tensor& encoded,
                                       const Tensor& edges) const {
  Tensor result = (*map.node)(states).index_select(0, rows.flatten());
  if (encoded.defined()) result = result + (*map.time)(encoded).view_as(result);
  if (edges.defined()) result = result + (*map.edge)(edges);
  return result.view({rows.size(0), rows.size(1), options_.heads, -1});
}

Tensor TemporalAttention::forward(const Tensor& states, const Neighborhood& hood,
                                  const Rng& key) const {
  return has_tables() ? fast(states, hood, key) : plain(states, hood, key);
}

bool TemporalAttention::has_tables() const {
  const bool phases_are_fixed = !encoding_ || !options_.learned_time;
  return phases_are_fixed && has_kernels(options_.path, out_->weight);
}

Tensor TemporalAttention::plain(const Tensor& states, const Neighborhood& hood,
                                const Rng& key) const {
  const Device device = states.device();
  const std::int64_t head_width = options_.width / options_.heads;
  const Tensor roots = to_tensor(hood.roots, device);
  const Tensor rows = to_tensor(hood.rows, device).view({-1, hood.neighbors});
  const Tensor own = states.index_select(0, roots);  // [R,D]
  Tensor query = (*query_.node)(states).index_select(0, roots);
  Tensor encoded;
  if (encoding_) {
    const Tensor dt = to_tensor(hood.dt, device);
    encoded = encoding_->forward(dt);  // [R·K,T]
    query = query + (*query_.time)(encoding_->forward(at::zeros({1}, dt.options())));
  }
  Tensor edges;
  if (key_.edge) edges = hood.edges.index_select(0, to_tensor(hood.events, device));
  query = query.view({-1, 1, options_.heads, head_width});
  const Tensor keys = per_neighbor(key_, states, rows, encoded, edges);
  const Tensor values = per_neighbor(value_, states, rows, encoded, edges);

  const Tensor slots = at::arange(hood.neighbors, rows.options());
  const Tensor mask =
      slots.lt(to_tensor(hood.counts, device).unsqueeze(1)).unsqueeze(-1);  // [R,K,1]
  Tensor weights = (query * keys).sum(-1) / std::sqrt(static_cast<double>(head_width));
  weights = at::softmax(weights.masked_fill(~mask, -1e9), 1) * mask;  // [R,K,H]
  const double dropout = is_training() ? options_.dropout : 0;
  weights = keyed_dropout(weights, dropout, hood.keys, key.split(0));

  const Tensor gathered = (weights.unsqueeze(-1) * values).sum(1).flatten(1);  // [R,D]
  const Tensor mixed = (*out_)(at::cat({gathered, own}, 1));
  return (*norm_)(at::relu(keyed_dropout(mixed, dropout, hood.keys, key.split(1))));
}

Tensor TemporalAttention::fast(const Tensor& states, const Neighborhood& hood,
                               const Rng& key) const {
  const auto roots = static_cast<std::int64_t>(hood.roots.size());
  const double dropout = is_training() ? options_.dropout : 0;
  auto plan = std::make_shared<AttentionPlan>(plan_of(hood));
  plan->weight_mask =
      dropout_mask({roots, hood.neighbors, options_.heads}, dropout, hood.keys, key.split(0));
  plan->output_mask = dropout_mask({roots, options_.width}, dropout, hood.keys, key.split(1));
  return attention(states, weights(), std::move(plan));
}

AttentionTables TemporalAttention::root_tables(const Tensor& states) const {
  return curnm::root_tables(states, weights(), now(), options_.heads);
}

Tensor TemporalAttention::neighbor_table(const Tensor& states) const {
  return curnm::neighbor_table(states, weights());
}

Tensor TemporalAttention::forward(const AttentionTables& tables, const Neighborhood& hood) const {
  return attention(tables, weights(), std::make_shared<AttentionPlan>(plan_of(hood)));
}

/// phi(0), [1,T]; undefined without times.
Tensor TemporalAttention::now() const {
  return encoding_ ? encoding_->encode(std::vector<double>{0.0}) : Tensor();
}

/// Without dropout.
AttentionPlan TemporalAttention::plan_of(const Neighborhood& hood) const {
  AttentionPlan plan{.heads = options_.heads,
                     .neighbors = hood.neighbors,
                     .num_queries = hood.num_roots,
                     .queries = hood.roots,
                     .counts = hood.counts,
                     .rows = hood.rows,
                     .now = now()};
  if (encoding_) plan.phi = encoding_->encode(hood.dt, hood.counts);
  if (key_.edge) {
    plan.features = hood.events;
    plan.edges = hood.edges;
  }
  return plan;
}

AttentionWeights TemporalAttention::weights() const {
  AttentionWeights weights{.query = query_.node->weight,
                           .query_bias = query_.node->bias,
                           .key = key_.node->weight,
                           .key_bias = key_.node->bias,
                           .value = value_.node->weight,
                           .value_bias = value_.node->bias,
                           .out = out_->weight,
                           .out_bias = out_->bias,
                           .gamma = norm_->weight,
                           .beta = norm_->bias};
  if (encoding_) {
    weights.query_time = query_.time->weight;
    weights.key_time = key_.time->weight;
    weights.value_time = value_.time->weight;
  }
  if (key_.edge) {
    weights.key_edge = key_.edge->weight;
    weights.value_edge = value_.edge->weight;
  }
  return weights;
}

}  // namespace curnm
