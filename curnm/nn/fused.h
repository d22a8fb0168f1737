#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "curnm/nn/path.h"

// Operations of the fast path: autograd functions around the kernels. CPU, float32, contiguous.
// Each equals a handful of tensor operations, which the plain path spells out and tests compare
// with.

namespace curnm {

/// table[rows], [n,D]: index_select with a parallel way back. `rows` is int64.
torch::Tensor gather_rows(const torch::Tensor& table, const torch::Tensor& rows);

/// The same by either path.
torch::Tensor select_rows(const torch::Tensor& table, const torch::Tensor& rows, Path path);

/// w·ReLU(sources[source_of] + destinations[destination_of]) + bias, [n].
torch::Tensor link_logits(const torch::Tensor& sources, const torch::Tensor& source_of,
                          const torch::Tensor& destinations, const torch::Tensor& destination_of,
                          const torch::Tensor& weight, const torch::Tensor& bias);

/// Two logits per link whose destination is split: of `parts` [n,D], and of the rest of its whole,
/// wholes[whole_of] - part + rest_bias.
struct SplitLogits {
  torch::Tensor parts;  // [n]
  torch::Tensor rests;  // [n]
};
SplitLogits split_logits(const torch::Tensor& sources, const torch::Tensor& source_of,
                         const torch::Tensor& wholes, const torch::Tensor& whole_of,
                         const torch::Tensor& parts, const torch::Tensor& weight,
                         const torch::Tensor& bias, const torch::Tensor& rest_bias);

/// (x - mean) / std + 1 over the whole tensor; ones where all of x is the same.
torch::Tensor standardise(const torch::Tensor& x);

/// A GRU cell from its two linear maps [n,3D] and a state that needs no gradient. [n,D]
torch::Tensor gru_cell(const torch::Tensor& in, const torch::Tensor& hidden,
                       const torch::Tensor& h);

/// h·sigmoid(context[owner] + own)·scale, [n,D]; an undefined scale is 1. `gate`, where given,
/// receives the sigmoid, without gradient.
torch::Tensor gated(const torch::Tensor& context, const torch::Tensor& owner,
                    const torch::Tensor& own, const torch::Tensor& h, const torch::Tensor& scale,
                    torch::Tensor* gate = nullptr);

/// What one layer of attention needs to know besides tensors that are trained.
struct AttentionPlan {
  std::int64_t heads = 1;              // H
  std::int64_t neighbors = 1;          // K
  std::vector<std::int64_t> queries;   // [R]: rows of q
  std::vector<std::int32_t> counts;    // [R]: used slots
  std::vector<std::int64_t> rows;      // [R,K]: rows of kv
  std::vector<std::int64_t> features;  // [R,K]: rows of edges
  torch::Tensor phi;                   // [R·K,T]; undefined without times
  torch::Tensor edges;                 // [.,F]; undefined without features
  torch::Tensor weight_mask;           // [R,K,H]: dropout; undefined without
  torch::Tensor output_mask;           // [R,D]
};

/// The trained part, each row once: queries, their products with the time and feature maps, keys
/// and values, the own half of the output, and the maps that come after the aggregation.
struct AttentionTensors {
  torch::Tensor q;           // [Q,D]
  torch::Tensor qt;          // [Q,H·T]
  torch::Tensor qe;          // [Q,H·F]
  torch::Tensor kv;          // [U,2D]
  torch::Tensor own;         // [Q,D]: W_o's half for the root itself, with bias
  torch::Tensor value_time;  // [D,T]
  torch::Tensor value_edge;  // [D,F]
  torch::Tensor out;         // [D,D]: W_o's half for what was gathered
  torch::Tensor gamma;       // [D]
  torch::Tensor beta;        // [D]
};

/// LayerNorm(ReLU(dropout(W_o [sum_j a_j v_j ‖ h_u]))), [R,D]. On the way back only roots that have
/// a gradient cost anything.
torch::Tensor attention(const AttentionTensors& tensors, std::shared_ptr<const AttentionPlan> plan);

}  // namespace curnm
