#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Attention over a few neighbours of many roots, from tables of distinct nodes: gather, attend and
// aggregate in one pass, without a [R,K,D] matrix.

namespace curnm::kernels {

/// Which neighbours each root attends to, and the features of the events. A root uses the first
/// `counts[r]` of its K slots. Only the roots in `roots` are computed.
struct AttentionInput {
  std::int64_t heads = 1;       // H
  std::int64_t neighbors = 1;   // K
  std::int64_t width = 0;       // D
  std::int64_t time_width = 0;  // T; 0 without times
  std::int64_t edge_width = 0;  // F; 0 without features

  std::span<const std::int64_t> roots;     // [A]: those to compute
  std::span<const std::int64_t> queries;   // [R]: rows of q, qt and qe
  std::span<const std::int32_t> counts;    // [R]
  std::span<const std::int64_t> rows;      // [R,K]: rows of kv
  std::span<const std::int64_t> features;  // [R,K]: rows of edges; empty without them

  const float* q = nullptr;      // [.,D]
  const float* qt = nullptr;     // [.,H,T]: W_t^T q per head
  const float* qe = nullptr;     // [.,H,F]
  const float* kv = nullptr;     // [.,2D]: keys, then values
  const float* phi = nullptr;    // [R,K,T]: encoded times
  const float* edges = nullptr;  // [.,F]
  const float* mask = nullptr;   // [R,K,H]: dropout of the weights; null without
};

/// Per root and head: softmax weights of the slots, and the sums of values, encoded times and
/// features under them (after dropout).
struct AttentionOutput {
  float* weights = nullptr;  // [A,K,H], before dropout; 0 in empty slots
  float* values = nullptr;   // [A,D]
  float* times = nullptr;    // [A,H,T]
  float* edges = nullptr;    // [A,H,F]
};
void attend(const AttentionInput& in, const AttentionOutput& out);

/// Gradients with respect to q, qt, qe and kv.
struct AttentionGradient {
  std::int64_t num_queries = 0;
  std::int64_t num_rows = 0;
  float* q = nullptr;   // [num_queries,D]
  float* qt = nullptr;  // [num_queries,H,T]
  float* qe = nullptr;  // [num_queries,H,F]
  float* kv = nullptr;  // [num_rows,2D]
};
/// Gradients of values, times and edges of `in.roots`, which may be fewer than in the forward pass:
/// `computed` says which row of that pass's weights belongs to each.
struct AttentionIncoming {
  std::span<const std::int64_t> computed;  // [A]
  const float* weights = nullptr;          // [.,K,H]
  const float* values = nullptr;           // [A,D]
  const float* times = nullptr;            // [A,H,T]
  const float* edges = nullptr;            // [A,H,F]
};
void attend_backward(const AttentionInput& in, const AttentionIncoming& incoming,
                     const AttentionGradient& out);

}  // namespace curnm::kernels
