#pragma once

#include <torch/torch.h>

#include "curnm/base/rng.h"
#include "curnm/nn/time_encoding.h"

namespace curnm {

/// Whom each of R roots attends to. States are given once per distinct node; roots and neighbours
/// are rows of that table.
struct Neighborhood {
  torch::Tensor roots;      // [R], int64: rows of the states
  torch::Tensor neighbors;  // [R,K], int64: rows of the states; any valid row where masked
  torch::Tensor mask;       // [R,K], bool: true where there is a neighbour
  torch::Tensor dt;         // [R,K], double: time since the event; undefined without time encoding
  torch::Tensor edges;      // [R,K,F]: features of the events; undefined where there are none
};

struct AttentionOptions {
  std::int64_t width = 172;       // D of states and result
  std::int64_t heads = 2;         // H, divides D
  std::int64_t time_width = 100;  // 0: the layer does not see times
  std::int64_t edge_width = 0;    // F
  double dropout = 0.1;
  bool learned_time = false;
  double time_scale = 1;
};

/// One layer of temporal graph attention (TGAT; TGN's embedding module):
///
///   q = W_q [h_u ‖ phi(0)],  k_j = W_k [h_j ‖ e_j ‖ phi(t - t_j)],  v_j = W_v [h_j ‖ e_j ‖ phi(t -
///   t_j)] a = softmax_j(q·k_j / sqrt(D/H)) per head,  z_u = LayerNorm(ReLU(W_o [sum_j a_j v_j ‖
///   h_u]))
///
/// with dropout on a and before the ReLU while training. A root without neighbours has sum 0.
/// The node parts of q, k and v are computed once per distinct node.
class TemporalAttention : public torch::nn::Module {
 public:
  explicit TemporalAttention(const AttentionOptions& options);

  /// States [U,D] -> [R,D]. The key is for dropout.
  torch::Tensor forward(const torch::Tensor& states, const Neighborhood& hood, const Rng& key);

 private:
  /// W [h ‖ e ‖ phi], as separate maps that are added.
  struct Projection {
    torch::nn::Linear node = nullptr;
    torch::nn::Linear edge = nullptr;
    torch::nn::Linear time = nullptr;
  };
  Projection projection(const std::string& name, bool with_edges);
  torch::Tensor per_neighbor(Projection& map, const torch::Tensor& states, const Neighborhood& hood,
                             const torch::Tensor& encoded);

  AttentionOptions options_;
  std::shared_ptr<CosineTimeEncoding> encoding_;
  Projection query_;
  Projection key_;
  Projection value_;
  torch::nn::Linear out_;
  torch::nn::LayerNorm norm_;
};

}  // namespace curnm
