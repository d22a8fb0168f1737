#include "curnm/nn/fused_attention.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "curnm/base/distinct_rows.h"
#include "curnm/nn/floats.h"
#include "curnm/nn/kernels/attention.h"
#include "curnm/nn/kernels/norm.h"
#include "curnm/nn/kernels/rows.h"
#include "curnm/nn/linear.h"

namespace curnm {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;
using Plan = std::shared_ptr<const AttentionPlan>;

Tensor matrix(std::int64_t rows, std::int64_t width) {
  return torch::empty({rows, width}, torch::kFloat32);
}
std::int64_t columns(const Tensor& tensor) { return tensor.defined() ? tensor.size(1) : 0; }

/// Columns of a [n, H·w] matrix that make head h.
Tensor head(const Tensor& matrix, std::int64_t h, std::int64_t heads) {
  const std::int64_t width = matrix.size(1) / heads;
  return matrix.narrow(1, h * width, width);
}
/// Rows of a [D,w] map that make head h.
Tensor head_rows(const Tensor& map, std::int64_t h, std::int64_t heads) {
  const std::int64_t width = map.size(0) / heads;
  return map.narrow(0, h * width, width);
}
/// The halves of the output map.
Tensor for_gathered(const Tensor& out) { return out.narrow(1, 0, out.size(0)); }
Tensor for_root(const Tensor& out) { return out.narrow(1, out.size(0), out.size(0)); }

/// Picks elements of a list.
std::vector<std::int64_t> at(const std::vector<std::int64_t>& list,
                             std::span<const std::int64_t> indices) {
  std::vector<std::int64_t> picked;
  picked.reserve(indices.size());
  for (std::int64_t i : indices) picked.push_back(list[static_cast<std::size_t>(i)]);
  return picked;
}

/// The states that some roots ask with and attend to, of all that there are, numbered in the order
/// in which they are met.
struct Involved {
  /// `of_roots` and `of_slots` name states: those a root asks with, [R], and attends to, [R,K].
  Involved(const AttentionPlan& plan, std::span<const std::int64_t> roots,
           const std::vector<std::int64_t>& of_roots, std::int64_t num_asking,
           const std::vector<std::int64_t>& of_slots, std::int64_t num_attended)
      : queries(of_roots.size(), 0), rows(of_slots.size(), 0) {
    DistinctRows asking_states(num_asking);
    DistinctRows attended_states(num_attended);
    for (std::int64_t root : roots) {
      const auto r = static_cast<std::size_t>(root);
      queries[r] = asking_states.row(of_roots[r]);
      const std::size_t first = r * static_cast<std::size_t>(plan.neighbors);
      const std::size_t end = first + static_cast<std::size_t>(plan.counts[r]);
      for (std::size_t slot = first; slot < end; ++slot) {
        rows[slot] = attended_states.row(of_slots[slot]);
      }
    }
    asking.assign(asking_states.keys().begin(), asking_states.keys().end());
    attended.assign(attended_states.keys().begin(), attended_states.keys().end());
  }

  std::vector<std::int64_t> asking;    // number i is state asking[i]
  std::vector<std::int64_t> attended;  // number i is state attended[i]
  std::vector<std::int64_t> queries;   // [R]: numbers among `asking`
  std::vector<std::int64_t> rows;      // [R,K]: numbers among `attended`
};

/// Where there is work: only states that someone attends to need a key and a value, only roots with
/// a neighbour a query. The others are mapped by W_o alone.
struct Work {
  Work(const AttentionPlan& plan, std::int64_t num_states)
      : order(busy_first(plan.counts)),
        busy(std::ssize(plan.counts) - std::count(plan.counts.begin(), plan.counts.end(), 0)),
        position(order.size()),
        states(plan, busy_roots(), plan.queries, plan.num_queries, plan.rows, num_states) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      position[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
  }

  std::span<const std::int64_t> busy_roots() const {
    return std::span(order).first(static_cast<std::size_t>(busy));
  }

  std::vector<std::int64_t> order;     // [R]: roots with neighbours, then those without
  std::int64_t busy;                   // B: roots with neighbours
  std::vector<std::int64_t> position;  // [R]: where in `order`
  Involved states;

 private:
  static std::vector<std::int64_t> busy_first(std::span<const std::int32_t> counts) {
    std::vector<std::int64_t> roots(counts.size());
    std::iota(roots.begin(), roots.end(), 0);
    std::stable_partition(roots.begin(), roots.end(), [&](std::int64_t root) {
      return counts[static_cast<std::size_t>(root)] > 0;
    });
    return roots;
  }
};

/// States mapped to what attention compares and adds up.
struct Projected {
  Tensor q;   // [asking,D]
  Tensor qt;  // [asking,H·T]: W_t^T q, head by head
  Tensor qe;  // [asking,H·F]
  Tensor kv;  // [attended,2D]

  /// Those of some of the states.
  Projected of(const Involved& states) const {
    const auto part = [](const Tensor& mapped, const std::vector<std::int64_t>& rows) {
      return mapped.defined() ? rows_of(mapped, rows) : mapped;
    };
    return {part(q, states.asking), part(qt, states.asking), part(qe, states.asking),
            part(kv, states.attended)};
  }
};

/// What the way there computes and the way back needs again. Roots are in the order of `work`.
struct Kept {
  Projected projected;
  Tensor weights;  // [B,K·H]
  Tensor values;   // [B,D]: sums over neighbours, after the maps of times and features
  Tensor times;    // [B,H·T]: sums over neighbours
  Tensor edges;    // [B,H·F]
  Tensor mixed;    // [R,D]: before dropout, ReLU and norm
  Tensor centre;   // [R]
  Tensor rate;     // [R]
};

kernels::AttentionInput attention_input(const AttentionPlan& plan, const Involved& states,
                                        std::span<const std::int64_t> roots,
                                        const Projected& projected) {
  return {.heads = plan.heads,
          .neighbors = plan.neighbors,
          .width = projected.q.size(1),
          .time_width = columns(plan.phi),
          .edge_width = columns(plan.edges),
          .roots = roots,
          .queries = states.queries,
          .counts = plan.counts,
          .rows = states.rows,
          .features = plan.features,
          .q = data(projected.q),
          .qt = data(projected.qt),
          .qe = data(projected.qe),
          .kv = data(projected.kv),
          .phi = data(plan.phi),
          .edges = data(plan.edges),
          .mask = data(plan.weight_mask)};
}

kernels::NormInput norm_input(const AttentionPlan& plan, const Work& work, const Tensor& mixed,
                              const AttentionWeights& w) {
  return {.width = mixed.size(1),
          .order = work.order,
          .x = data(mixed),
          .mask = data(plan.output_mask),
          .gamma = data(w.gamma),
          .beta = data(w.beta)};
}

/// The whole layer. `z` receives the result.
Kept there(const Tensor& states, const AttentionWeights& w, const AttentionPlan& plan,
           const Work& work, Tensor& z) {
  const auto roots = static_cast<std::int64_t>(plan.counts.size());
  const std::int64_t heads = plan.heads;
  const std::int64_t width = states.size(1);
  Kept kept;
  Projected& p = kept.projected;
  p.q = affine(rows_of(states, work.states.asking), w.query,
               plan.phi.defined() ? affine(plan.now, w.query_time, w.query_bias) : w.query_bias);
  const auto queries_of = [&](const Tensor& map) {
    if (!is_present(map)) return Tensor();
    Tensor mapped = matrix(p.q.size(0), heads * map.size(1));
    for (std::int64_t h = 0; h < heads; ++h) {
      multiply(head(p.q, h, heads), head_rows(map, h, heads), head(mapped, h, heads));
    }
    return mapped;
  };
  p.qt = queries_of(w.key_time);
  p.qe = queries_of(w.key_edge);
  const Tensor attended = rows_of(states, work.states.attended);
  p.kv = matrix(attended.size(0), 2 * width);
  affine_into(attended, w.key, w.key_bias, head(p.kv, 0, 2));
  affine_into(attended, w.value, w.value_bias, head(p.kv, 1, 2));

  kept.weights = matrix(work.busy, plan.neighbors * heads);
  kept.values = matrix(work.busy, width);
  kept.times = matrix(work.busy, heads * columns(plan.phi));
  kept.edges = matrix(work.busy, heads * columns(plan.edges));
  kernels::attend(attention_input(plan, work.states, work.busy_roots(), p),
                  {data(kept.weights), data(kept.values), data(kept.times), data(kept.edges)});
  const auto project = [&](const Tensor& sums, const Tensor& map) {
    if (!is_present(map)) return;
    for (std::int64_t h = 0; h < heads; ++h) {
      multiply(head(sums, h, heads), head_rows(map, h, heads).t(), head(kept.values, h, heads),
               /*add=*/true);
    }
  };
  project(kept.times, w.value_time);
  project(kept.edges, w.value_edge);

  kept.mixed = matrix(roots, width);
  const Tensor own = affine(states.narrow(0, 0, plan.num_queries), for_root(w.out), w.out_bias);
  kernels::gather(data(own), at(plan.queries, work.order), width, data(kept.mixed));
  multiply(kept.values, for_gathered(w.out).t(), kept.mixed.narrow(0, 0, work.busy), /*add=*/true);
  z = matrix(roots, width);
  kept.centre = torch::empty({roots}, torch::kFloat32);
  kept.rate = torch::empty({roots}, torch::kFloat32);
  kernels::layer_norm(norm_input(plan, work, kept.mixed, w), data(z), data(kept.centre),
                      data(kept.rate));
  return kept;
}

/// The gradients of states and weights from that of the result.
struct Gradients {
  Tensor states;
  AttentionWeights weights;
};

/// One way back, from the result to the states. Rows without a gradient cost nothing.
class Backward {
 public:
  Backward(const Tensor& states, const AttentionWeights& w, const AttentionPlan& plan,
           const Work& work, const Kept& kept)
      : states_(states),
        w_(w),
        plan_(plan),
        work_(work),
        kept_(kept),
        heads_(plan.heads),
        width_(states.size(1)) {}

  Gradients run(const Tensor& dz, bool wants_states) {
    through_output(dz);
    through_attention();
    through_projections();
    if (wants_states) add_states();
    return std::move(d_);
  }

 private:
  /// Norm, ReLU and dropout, then the two halves of the output map.
  void through_output(const Tensor& dz) {
    // Roots that have a gradient, by their position in the order of the work: those with neighbours
    // come first.
    std::vector<std::int64_t> active =
        at(work_.position, kernels::rows_with_values(data(dz), dz.size(0), dz.size(1)));
    std::sort(active.begin(), active.end());
    busy_.assign(active.begin(), std::lower_bound(active.begin(), active.end(), work_.busy));
    const std::vector<std::int64_t> roots = at(work_.order, active);

    Tensor dnormed = matrix(std::ssize(active), width_);
    kernels::gather(data(dz), roots, width_, data(dnormed));
    const Tensor dmixed = like(dnormed);
    d_.weights.gamma = like(w_.gamma);
    d_.weights.beta = like(w_.beta);
    kernels::layer_norm_backward(norm_input(plan_, work_, kept_.mixed, w_), active,
                                 data(kept_.centre), data(kept_.rate), data(dnormed), data(dmixed),
                                 data(d_.weights.gamma), data(d_.weights.beta));
    down_ = matrix(plan_.num_queries, width_);
    kernels::sum_groups(data(dmixed),
                        kernels::RowGroups::of(at(plan_.queries, roots), plan_.num_queries), width_,
                        data(down_));
    const Tensor dsummed = dmixed.narrow(0, 0, std::ssize(busy_));
    d_.weights.out = like(w_.out);
    multiply(dsummed.t(), rows_of(kept_.values, busy_), for_gathered(d_.weights.out));
    multiply(down_.t(), states_.narrow(0, 0, plan_.num_queries), for_root(d_.weights.out));
    d_.weights.out_bias = sum_of_rows(down_);
    dvalues_ = product(dsummed, for_gathered(w_.out));
  }

  /// The maps behind the sum over neighbours, the attention, and the maps of its queries.
  void through_attention() {
    const Tensor dtimes = back_from_sums(kept_.times, w_.value_time, d_.weights.value_time);
    const Tensor dedges = back_from_sums(kept_.edges, w_.value_edge, d_.weights.value_edge);
    const std::vector<std::int64_t> roots = at(work_.order, busy_);
    const Projected& all = kept_.projected;
    const Involved met(plan_, roots, work_.states.queries, all.q.size(0), work_.states.rows,
                       all.kv.size(0));
    asking_ = at(work_.states.asking, met.asking);
    attended_ = at(work_.states.attended, met.attended);
    const Projected projected = all.of(met);
    dq_ = like(projected.q);
    dkv_ = like(projected.kv);
    const Tensor dqt = projected.qt.defined() ? like(projected.qt) : Tensor();
    const Tensor dqe = projected.qe.defined() ? like(projected.qe) : Tensor();
    kernels::attend_backward(attention_input(plan_, met, roots, projected),
                             {.computed = busy_,
                              .weights = data(kept_.weights),
                              .values = data(dvalues_),
                              .times = data(dtimes),
                              .edges = data(dedges)},
                             {.num_queries = dq_.size(0),
                              .num_rows = dkv_.size(0),
                              .q = data(dq_),
                              .qt = data(dqt),
                              .qe = data(dqe),
                              .kv = data(dkv_)});
    back_to_queries(projected.q, dqt, w_.key_time, d_.weights.key_time);
    back_to_queries(projected.q, dqe, w_.key_edge, d_.weights.key_edge);
  }

  /// The gradient of the sums that `map` was applied to, and of the map.
  Tensor back_from_sums(const Tensor& sums, const Tensor& map, Tensor& dmap) const {
    const Tensor dsums = matrix(dvalues_.size(0), sums.size(1));
    if (!is_present(map)) return dsums;
    const Tensor of_busy = rows_of(sums, busy_);
    dmap = like(map);
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Tensor dvalue = head(dvalues_, h, heads_);
      multiply(dvalue.t(), head(of_busy, h, heads_), head_rows(dmap, h, heads_));
      multiply(dvalue, head_rows(map, h, heads_), head(dsums, h, heads_));
    }
    return dsums;
  }

  /// The part of the queries' gradient that comes through `map`, and the gradient of the map.
  void back_to_queries(const Tensor& q, const Tensor& dmapped, const Tensor& map, Tensor& dmap) {
    if (!is_present(map)) return;
    dmap = like(map);
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Tensor of_head = head(dmapped, h, heads_);
      multiply(head(q, h, heads_).t(), of_head, head_rows(dmap, h, heads_));
      multiply(of_head, head_rows(map, h, heads_).t(), head(dq_, h, heads_), /*add=*/true);
    }
  }

  Tensor dk() const { return head(dkv_, 0, 2); }
  Tensor dv() const { return head(dkv_, 1, 2); }

  void through_projections() {
    const Tensor attended = rows_of(states_, attended_);
    d_.weights.query = product(dq_.t(), rows_of(states_, asking_));
    d_.weights.query_bias = sum_of_rows(dq_);
    if (plan_.phi.defined()) {
      d_.weights.query_time = product(d_.weights.query_bias.unsqueeze(1), plan_.now);
    }
    d_.weights.key = product(dk().t(), attended);
    d_.weights.key_bias = sum_of_rows(dk());
    d_.weights.value = product(dv().t(), attended);
    d_.weights.value_bias = sum_of_rows(dv());
  }

  /// States are roots, queries, keys and values.
  void add_states() {
    d_.states = matrix(states_.size(0), width_);
    multiply(down_, for_root(w_.out), d_.states.narrow(0, 0, plan_.num_queries));
    d_.states.narrow(0, plan_.num_queries, states_.size(0) - plan_.num_queries).zero_();
    kernels::add_rows(data(product(dq_, w_.query)), asking_, width_, data(d_.states));
    const Tensor dattended = product(dk(), w_.key);
    multiply(dv(), w_.value, dattended, /*add=*/true);
    kernels::add_rows(data(dattended), attended_, width_, data(d_.states));
  }

  const Tensor& states_;
  const AttentionWeights& w_;
  const AttentionPlan& plan_;
  const Work& work_;
  const Kept& kept_;
  std::int64_t heads_;
  std::int64_t width_;
  std::vector<std::int64_t> busy_;      // roots with neighbours and a gradient, by position
  std::vector<std::int64_t> asking_;    // states that those ask with
  std::vector<std::int64_t> attended_;  // and attend to
  Tensor down_;                         // [Q,D], of the output map's root half
  Tensor dvalues_;                      // [busy,D]
  Tensor dq_;                           // [asking,D]
  Tensor dkv_;                          // [attended,2D]
  Gradients d_;
};

struct Attention : Function<Attention> {
  static Tensor forward(AutogradContext* context, const Tensor& states, const Tensor& query,
                        const Tensor& query_bias, const Tensor& query_time, const Tensor& key,
                        const Tensor& key_bias, const Tensor& key_time, const Tensor& key_edge,
                        const Tensor& value, const Tensor& value_bias, const Tensor& value_time,
                        const Tensor& value_edge, const Tensor& out, const Tensor& out_bias,
                        const Tensor& gamma, const Tensor& beta, const Plan& plan) {
    const AttentionWeights weights{query,      query_bias, query_time, key,        key_bias,
                                   key_time,   key_edge,   value,      value_bias, value_time,
                                   value_edge, out,        out_bias,   gamma,      beta};
    Tensor z;
    Work work(*plan, states.size(0));
    Kept kept = there(states, weights, *plan, work, z);
    context->save_for_backward({states, query, query_bias, query_time, key, key_bias, key_time,
                                key_edge, value, value_bias, value_time, value_edge, out, out_bias,
                                gamma, beta});
    context->saved_data["passage"] = c10::IValue::make_capsule(
        c10::make_intrusive<Passage>(plan, std::move(work), std::move(kept)));
    return z;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list s = context->get_saved_variables();
    const AttentionWeights weights{s[1], s[2],  s[3],  s[4],  s[5],  s[6],  s[7], s[8],
                                   s[9], s[10], s[11], s[12], s[13], s[14], s[15]};
    const auto passage =
        c10::static_intrusive_pointer_cast<Passage>(context->saved_data["passage"].toCapsule());
    const Gradients d = Backward(s[0], weights, *passage->plan, passage->work, passage->kept)
                            .run(incoming[0].contiguous(), context->needs_input_grad(0));
    const AttentionWeights& w = d.weights;
    return {d.states,   w.query,    w.query_bias, w.query_time, w.key,        w.key_bias,
            w.key_time, w.key_edge, w.value,      w.value_bias, w.value_time, w.value_edge,
            w.out,      w.out_bias, w.gamma,      w.beta,       Tensor()};
  }

 private:
  /// From the way there to the way back.
  struct Passage : torch::CustomClassHolder {
    Passage(Plan held, Work done, Kept tensors)
        : plan(std::move(held)), work(std::move(done)), kept(std::move(tensors)) {}
    Plan plan;
    Work work;
    Kept kept;
  };
};

}  // namespace

Tensor attention(const Tensor& states, const AttentionWeights& w, Plan plan) {
  return Attention::apply(states, w.query, w.query_bias, or_empty(w.query_time), w.key, w.key_bias,
                          or_empty(w.key_time), or_empty(w.key_edge), w.value, w.value_bias,
                          or_empty(w.value_time), or_empty(w.value_edge), w.out, w.out_bias,
                          w.gamma, w.beta, plan);
}

}  // namespace curnm
