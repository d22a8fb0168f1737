#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

namespace curnm {

/// What one layer of attention needs to know besides tensors that are trained.
struct AttentionPlan {
  std::int64_t heads = 1;              // H
  std::int64_t neighbors = 1;          // K
  std::int64_t num_queries = 0;        // Q: the first states are those of roots
  std::vector<std::int64_t> queries;   // [R]: states, all below Q
  std::vector<std::int32_t> counts;    // [R]: used slots
  std::vector<std::int64_t> rows;      // [R,K]: states
  std::vector<std::int64_t> features;  // [R,K]: rows of edges
  torch::Tensor phi;                   // [R·K,T]; undefined without times
  torch::Tensor now;                   // [1,T]: phi(0)
  torch::Tensor edges;                 // [.,F]; undefined without features
  torch::Tensor weight_mask;           // [R,K,H]: dropout; undefined without
  torch::Tensor output_mask;           // [R,D]
};

/// The maps of a layer; those of times and features are undefined where there are none.
struct AttentionWeights {
  torch::Tensor query;       // [D,D]
  torch::Tensor query_bias;  // [D]
  torch::Tensor query_time;  // [D,T]
  torch::Tensor key;         // [D,D]
  torch::Tensor key_bias;    // [D]
  torch::Tensor key_time;    // [D,T]
  torch::Tensor key_edge;    // [D,F]
  torch::Tensor value;       // [D,D]
  torch::Tensor value_bias;  // [D]
  torch::Tensor value_time;  // [D,T]
  torch::Tensor value_edge;  // [D,F]
  torch::Tensor out;         // [D,2D]: for what was gathered, then for the root itself
  torch::Tensor out_bias;    // [D]
  torch::Tensor gamma;       // [D]
  torch::Tensor beta;        // [D]
};

/// LayerNorm(ReLU(dropout(W_o [sum_j a_j v_j ‖ h_u]))), states [U,D] -> [R,D], as one autograd
/// function. Queries, keys and values are computed once per state, the maps of times and features
/// are applied after the sum over neighbours. On the way back only roots that have a gradient cost
/// anything.
torch::Tensor attention(const torch::Tensor& states, const AttentionWeights& weights,
                        std::shared_ptr<const AttentionPlan> plan);

}  // namespace curnm
