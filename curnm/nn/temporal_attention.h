#pragma once

#include <vector>

#include "curnm/base/rng.h"
#include "curnm/nn/fused_attention.h"
#include "curnm/nn/module.h"
#include "curnm/nn/path.h"
#include "curnm/nn/time_encoding.h"

namespace curnm {

/// The neighbours that each of R roots attends to. States are stored once per distinct node; roots
/// and neighbours are rows of that table. A root has neighbours in the first `counts[r]` of its K
/// slots; the others hold any valid row.
struct Neighborhood {
  std::int64_t neighbors = 1;        // K
  std::int64_t num_roots = 0;        // distinct ones: the first rows of the states
  std::vector<std::int64_t> roots;   // [R]
  std::vector<std::int32_t> counts;  // [R]
  std::vector<std::int64_t> rows;    // [R,K]
  std::vector<double> dt;            // [R,K]: time since the event; empty without time encoding
  std::vector<std::int64_t> events;  // [R,K]: rows of `edges`; empty where there are none
  std::vector<std::uint64_t> keys;   // [R]: identify the roots independent of order, for dropout
  Tensor edges;                      // [.,F]: features of events; undefined where there are none
};

struct AttentionOptions {
  std::int64_t width = 172;       // D of states and result
  std::int64_t heads = 2;         // H, divides D
  std::int64_t time_width = 100;  // 0: the layer does not see times
  std::int64_t edge_width = 0;    // F
  double dropout = 0.1;
  bool learned_time = false;
  double time_scale = 1;
  Path path = Path::kFast;
};

/// One layer of temporal graph attention (TGAT; TGN's embedding module):
///
///   q = W_q [h_u ‖ phi(0)],  k_j = W_k [h_j ‖ e_j ‖ phi(t - t_j)],  v_j = W_v [h_j ‖ e_j ‖ phi(t -
///   t_j)] a = softmax_j(q·k_j / sqrt(D/H)) per head,  z_u = LayerNorm(ReLU(W_o [sum_j a_j v_j ‖
///   h_u]))
///
/// with dropout on a and before the ReLU while training. A root without neighbours has sum 0.
/// The node parts of q, k and v are computed once per distinct node. The fast path also moves the
/// maps of times and features out of the sum over neighbours: q·W phi_j = (W^T q)·phi_j, and
/// sum_j a_j W phi_j = W sum_j a_j phi_j.
class TemporalAttention : public Module {
 public:
  explicit TemporalAttention(const AttentionOptions& options);

  /// States [U,D] -> [R,D]. The key is for dropout.
  Tensor forward(const Tensor& states, const Neighborhood& hood, const Rng& key) const;

  /// Whether states can be mapped ahead of the attention, on the fast path.
  bool has_tables() const;
  /// What states [n,D] are mapped to as roots, and as neighbours (AttentionTables::kv): a row of
  /// either depends on its own state alone. Without gradients.
  AttentionTables root_tables(const Tensor& states) const;
  Tensor neighbor_table(const Tensor& states) const;
  /// The same bits as from the states, without gradients and dropout; hood.roots are rows of the
  /// tables of roots, hood.rows those of neighbours, which may be undefined where there are none.
  Tensor forward(const AttentionTables& tables, const Neighborhood& hood) const;

 private:
  /// W [h ‖ e ‖ phi], as separate maps that are added.
  struct Projection {
    std::shared_ptr<Linear> node;
    std::shared_ptr<Linear> edge;
    std::shared_ptr<Linear> time;
  };
  Projection projection(const std::string& name, bool with_edges);
  Tensor plain(const Tensor& states, const Neighborhood& hood, const Rng& key) const;
  Tensor fast(const Tensor& states, const Neighborhood& hood, const Rng& key) const;
  AttentionPlan plan_of(const Neighborhood& hood) const;
  AttentionWeights weights() const;
  Tensor now() const;
  /// [R,K,H,D/H]
  Tensor per_neighbor(const Projection& map, const Tensor& states, const Tensor& rows,
                      const Tensor& encoded, const Tensor& edges) const;

  AttentionOptions options_;
  std::shared_ptr<CosineTimeEncoding> encoding_;
  Projection query_;
  Projection key_;
  Projection value_;
  std::shared_ptr<Linear> out_;
  std::shared_ptr<LayerNorm> norm_;
};

}  // namespace curnm
