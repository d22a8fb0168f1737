#pragma once

#include <array>
#include <memory>
#include <vector>

#include "curnm/nn/tensor.h"

namespace curnm {

/// What one layer of attention needs besides states and weights: which states attend to which, and
/// when.
struct AttentionPlan {
  std::int64_t heads = 1;              // H
  std::int64_t neighbors = 1;          // K
  std::int64_t num_queries = 0;        // Q: the first states are those of roots
  std::vector<std::int64_t> queries;   // [R]: states, all below Q
  std::vector<std::int32_t> counts;    // [R]: used slots
  std::vector<std::int64_t> rows;      // [R,K]: states
  std::vector<std::int64_t> features;  // [R,K]: rows of edges
  Tensor phi;                          // [R·K,T]; undefined without times
  Tensor now;                          // [1,T]: phi(0)
  Tensor edges;                        // [.,F]; undefined without features
  Tensor weight_mask;                  // [R,K,H]: dropout; undefined without
  Tensor output_mask;                  // [R,D]
};

/// The maps of a layer; those of times and features are undefined where there are none.
struct AttentionWeights {
  Tensor query;       // [D,D]
  Tensor query_bias;  // [D]
  Tensor query_time;  // [D,T]
  Tensor key;         // [D,D]
  Tensor key_bias;    // [D]
  Tensor key_time;    // [D,T]
  Tensor key_edge;    // [D,F]
  Tensor value;       // [D,D]
  Tensor value_bias;  // [D]
  Tensor value_time;  // [D,T]
  Tensor value_edge;  // [D,F]
  Tensor out;         // [D,2D]: for the sum over neighbours, then for the root itself
  Tensor out_bias;    // [D]
  Tensor gamma;       // [D]
  Tensor beta;        // [D]
};

/// Every weight once, in the order in which the autograd function takes them: the one list that
/// packing, unpacking and gradients follow.
inline constexpr std::array kAttentionWeights = {
    &AttentionWeights::query,      &AttentionWeights::query_bias, &AttentionWeights::query_time,
    &AttentionWeights::key,        &AttentionWeights::key_bias,   &AttentionWeights::key_time,
    &AttentionWeights::key_edge,   &AttentionWeights::value,      &AttentionWeights::value_bias,
    &AttentionWeights::value_time, &AttentionWeights::value_edge, &AttentionWeights::out,
    &AttentionWeights::out_bias,   &AttentionWeights::gamma,      &AttentionWeights::beta};
static_assert(kAttentionWeights.size() * sizeof(Tensor) == sizeof(AttentionWeights));

/// LayerNorm(ReLU(dropout(W_o [sum_j a_j v_j ‖ h_u]))), states [U,D] -> [R,D], as one autograd
/// function. Queries, keys and values are computed once per state; the maps of times and features
/// are applied after the sum over neighbours. In the backward pass only roots with a gradient cost
/// anything. CPU, float32; inputs that are not contiguous are copied.
Tensor attention(const Tensor& states, const AttentionWeights& weights,
                 std::shared_ptr<const AttentionPlan> plan);

/// What states are mapped to, whoever attends to them and when: for callers that ask about the same
/// states again. A row depends on its own state alone, to the bit.
struct AttentionTables {
  Tensor q;    // [.,D]: of roots
  Tensor qt;   // [.,H·T]: W_t^T q, head by head; undefined without times
  Tensor qe;   // [.,H·F]: the same for features
  Tensor own;  // [.,D]: the root's half of W_o
  Tensor kv;   // [.,2D]: of neighbours, keys and then values
};
/// All but kv; `now`: as in AttentionPlan. Without gradients.
AttentionTables root_tables(const Tensor& states, const AttentionWeights& weights,
                            const Tensor& now, std::int64_t heads);
/// kv alone.
Tensor neighbor_table(const Tensor& states, const AttentionWeights& weights);
/// The rest of the layer, without gradients: the queries of the plan are rows of q, its rows those
/// of kv.
Tensor attention(const AttentionTables& tables, const AttentionWeights& weights,
                 std::shared_ptr<const AttentionPlan> plan);

}  // namespace curnm
