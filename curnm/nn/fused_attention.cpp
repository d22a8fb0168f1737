#include "curnm/nn/fused_attention.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "curnm/base/distinct_rows.h"
#include "curnm/base/types.h"
#include "curnm/kernels/attention.h"
#include "curnm/kernels/norm.h"
#include "curnm/kernels/rows.h"
#include "curnm/nn/kernel_tensors.h"
#include "curnm/nn/linear.h"

namespace curnm {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;
using SharedPlan = std::shared_ptr<const AttentionPlan>;

Tensor empty_matrix(std::int64_t rows, std::int64_t width) {
  return at::empty({rows, width}, at::kFloat);
}
std::int64_t width_or_zero(const Tensor& matrix) { return matrix.defined() ? matrix.size(1) : 0; }

/// The columns of a [n, H·w] matrix that belong to head h.
Tensor head_columns(const Tensor& matrix, std::int64_t h, std::int64_t heads) {
  const std::int64_t width = matrix.size(1) / heads;
  return matrix.narrow(1, h * width, width);
}
/// The rows of a [D,w] map that belong to head h.
Tensor head_rows(const Tensor& map, std::int64_t h, std::int64_t heads) {
  const std::int64_t width = map.size(0) / heads;
  return map.narrow(0, h * width, width);
}
/// The halves of the output map: for the sum over neighbours, and for the root itself.
Tensor neighbor_half(const Tensor& out) { return out.narrow(1, 0, out.size(0)); }
Tensor root_half(const Tensor& out) { return out.narrow(1, out.size(0), out.size(0)); }
/// The halves of [n,2D] keys and values.
Tensor key_half(const Tensor& kv) { return head_columns(kv, 0, 2); }
Tensor value_half(const Tensor& kv) { return head_columns(kv, 1, 2); }

std::vector<std::int64_t> elements_at(const std::vector<std::int64_t>& list,
                                      std::span<const std::int64_t> positions) {
  std::vector<std::int64_t> elements;
  elements.reserve(positions.size());
  for (const std::int64_t i : positions) elements.push_back(list[index(i)]);
  return elements;
}

/// All roots, those with neighbours first. Only these attend; the others only pass through W_o.
struct RootOrder {
  explicit RootOrder(std::span<const std::int32_t> counts)
      : roots(counts.size()),
        num_attending(std::ssize(counts) - std::count(counts.begin(), counts.end(), 0)),
        position(counts.size()) {
    std::iota(roots.begin(), roots.end(), 0);
    std::stable_partition(roots.begin(), roots.end(),
                          [&](std::int64_t root) { return counts[index(root)] > 0; });
    for (std::size_t i = 0; i < roots.size(); ++i) {
      position[index(roots[i])] = static_cast<std::int64_t>(i);
    }
  }

  std::span<const std::int64_t> attending() const {
    return std::span(roots).first(index(num_attending));
  }

  std::vector<std::int64_t> roots;     // [R]
  std::int64_t num_attending;          // B: roots with neighbours
  std::vector<std::int64_t> position;  // [R]: index in `roots`
};

/// Which rows of the tables of queries and of keys and values each root uses.
struct TableRows {
  std::vector<std::int64_t> of_roots;  // [R]: rows of queries
  std::vector<std::int64_t> of_slots;  // [R,K]: rows of keys and values
};

/// The rows of larger tables that some roots use, as smaller tables, so that queries are computed
/// only for the states of those roots, and keys and values only for states that they attend to.
struct TableSubset {
  TableSubset(const AttentionPlan& plan, std::span<const std::int64_t> roots,
              const std::vector<std::int64_t>& of_roots, std::int64_t num_queries,
              const std::vector<std::int64_t>& of_slots, std::int64_t num_keys)
      : rows{.of_roots = std::vector<std::int64_t>(of_roots.size(), 0),
             .of_slots = std::vector<std::int64_t>(of_slots.size(), 0)} {
    DistinctRows distinct_queries(num_queries);
    DistinctRows distinct_keys(num_keys);
    for (const std::int64_t root : roots) {
      const std::size_t r = index(root);
      rows.of_roots[r] = distinct_queries.row(of_roots[r]);
      const std::size_t first = r * index(plan.neighbors);
      const std::size_t end = first + index(plan.counts[r]);
      for (std::size_t slot = first; slot < end; ++slot) {
        rows.of_slots[slot] = distinct_keys.row(of_slots[slot]);
      }
    }
    queries.assign(distinct_queries.keys().begin(), distinct_queries.keys().end());
    keys.assign(distinct_keys.keys().begin(), distinct_keys.keys().end());
  }

  std::vector<std::int64_t> queries;  // row i of the new queries is row queries[i] of the old
  std::vector<std::int64_t> keys;     // the same for keys and values
  TableRows rows;                     // in the new tables; 0 for unused roots and slots
};

/// States mapped to queries, keys and values.
struct Projections {
  Tensor q;   // [queries,D]
  Tensor qt;  // [queries,H·T]: W_t^T q, head by head
  Tensor qe;  // [queries,H·F]
  Tensor kv;  // [keys,2D]

  Projections subset(const TableSubset& of) const {
    const auto part = [](const Tensor& table, const std::vector<std::int64_t>& rows) {
      return table.defined() ? subset_of_rows(table, rows) : table;
    };
    return {part(q, of.queries), part(qt, of.queries), part(qe, of.queries), part(kv, of.keys)};
  }
};

/// What the forward pass computes and the backward pass needs again. Roots are in their RootOrder.
struct Activations {
  Projections projections;
  Tensor weights;      // [B,K·H]
  Tensor values;       // [B,D]: sums over neighbours, with the maps of times and features applied
  Tensor times;        // [B,H·T]: sums over neighbours
  Tensor edges;        // [B,H·F]
  Tensor mixed;        // [R,D]: W_o [values ‖ own state], before dropout, ReLU and norm
  Tensor mean;         // [R]: of the norm
  Tensor inverse_std;  // [R]
};

kernels::AttentionInput attention_input(const AttentionPlan& plan, const TableRows& rows,
                                        std::span<const std::int64_t> roots,
                                        const Projections& projections) {
  return {.heads = plan.heads,
          .neighbors = plan.neighbors,
          .width = projections.q.size(1),
          .time_width = width_or_zero(plan.phi),
          .edge_width = width_or_zero(plan.edges),
          .roots = roots,
          .queries = rows.of_roots,
          .counts = plan.counts,
          .rows = rows.of_slots,
          .features = plan.features,
          .q = float_data(projections.q),
          .qt = float_data(projections.qt),
          .qe = float_data(projections.qe),
          .kv = float_data(projections.kv),
          .phi = float_data(plan.phi),
          .edges = float_data(plan.edges),
          .mask = float_data(plan.weight_mask)};
}

kernels::NormInput norm_input(const AttentionPlan& plan, const RootOrder& order,
                              const Tensor& mixed, const AttentionWeights& w) {
  return {.width = mixed.size(1),
          .order = order.roots,
          .x = float_data(mixed),
          .mask = float_data(plan.output_mask),
          .gamma = float_data(w.gamma),
          .beta = float_data(w.beta)};
}

/// One call of the layer: its input, the layout of its work and its intermediate results. Kept
/// until the backward pass.
struct LayerCall : torch::CustomClassHolder {
  LayerCall(SharedPlan given, std::int64_t num_states)
      : plan(std::move(given)),
        order(plan->counts),
        states_used(*plan, order.attending(), plan->queries, plan->num_queries, plan->rows,
                    num_states) {}

  SharedPlan plan;
  RootOrder order;
  TableSubset states_used;  // by all roots with neighbours
  Activations activations;
};

/// map^T q, head by head: q·(map x) = (map^T q)·x, and there are fewer queries than neighbours.
Tensor map_queries(const Tensor& q, const Tensor& map, std::int64_t heads) {
  if (!is_present(map)) return {};
  const Tensor mapped = empty_matrix(q.size(0), heads * map.size(1));
  for (std::int64_t h = 0; h < heads; ++h) {
    multiply_into(head_columns(q, h, heads), head_rows(map, h, heads),
                  head_columns(mapped, h, heads));
  }
  return mapped;
}

/// Fills all but kv.
void project_queries(const Tensor& states, const AttentionWeights& w, const Tensor& now,
                     std::int64_t heads, Projections& p) {
  p.q = affine(states, w.query,
               now.defined() ? affine(now, w.query_time, w.query_bias) : w.query_bias);
  p.qt = map_queries(p.q, w.key_time, heads);
  p.qe = map_queries(p.q, w.key_edge, heads);
}

Tensor keys_and_values(const Tensor& states, const AttentionWeights& w) {
  const std::int64_t width = states.size(1);
  const Tensor kv = empty_matrix(states.size(0), 2 * width);
  affine_into(states, w.key, w.key_bias, key_half(kv));
  affine_into(states, w.value, w.value_bias, value_half(kv));
  return kv;
}

/// What a root adds to its own result, whoever it attends to.
Tensor own_part(const Tensor& states, const AttentionWeights& w) {
  return affine(states, root_half(w.out), w.out_bias);
}

/// The layer from its projections on, [R,D]. Fills the other activations.
class Forward {
 public:
  Forward(const AttentionWeights& w, const AttentionPlan& plan, const RootOrder& order,
          const TableRows& rows, Activations& activations)
      : w_(w),
        plan_(plan),
        order_(order),
        rows_(rows),
        activations_(activations),
        heads_(plan.heads),
        width_(w.query.size(0)) {}

  /// `own`: `own_part` of the states that the plan's queries refer to.
  Tensor run(const Tensor& own) {
    attend();
    return output(own);
  }

 private:
  void attend() {
    const std::int64_t attending = order_.num_attending;
    activations_.weights = empty_matrix(attending, plan_.neighbors * heads_);
    activations_.values = empty_matrix(attending, width_);
    activations_.times = empty_matrix(attending, heads_ * width_or_zero(plan_.phi));
    activations_.edges = empty_matrix(attending, heads_ * width_or_zero(plan_.edges));
    kernels::attend(attention_input(plan_, rows_, order_.attending(), activations_.projections),
                    {.weights = float_data(activations_.weights),
                     .values = float_data(activations_.values),
                     .times = float_data(activations_.times),
                     .edges = float_data(activations_.edges)});
    add_mapped_sums(activations_.times, w_.value_time);
    add_mapped_sums(activations_.edges, w_.value_edge);
  }

  void add_mapped_sums(const Tensor& sums, const Tensor& map) {
    if (!is_present(map)) return;
    for (std::int64_t h = 0; h < heads_; ++h) {
      multiply_into(head_columns(sums, h, heads_), head_rows(map, h, heads_).t(),
                    head_columns(activations_.values, h, heads_), /*add=*/true);
    }
  }

  Tensor output(const Tensor& own) {
    const auto num_roots = std::ssize(order_.roots);
    activations_.mixed = empty_matrix(num_roots, width_);
    kernels::gather(float_data(own), elements_at(plan_.queries, order_.roots), width_,
                    float_data(activations_.mixed));
    multiply_into(activations_.values, neighbor_half(w_.out).t(),
                  activations_.mixed.narrow(0, 0, order_.num_attending), /*add=*/true);
    const Tensor z = empty_matrix(num_roots, width_);
    activations_.mean = at::empty({num_roots}, at::kFloat);
    activations_.inverse_std = at::empty({num_roots}, at::kFloat);
    kernels::layer_norm(norm_input(plan_, order_, activations_.mixed, w_), float_data(z),
                        float_data(activations_.mean), float_data(activations_.inverse_std));
    return z;
  }

  const AttentionWeights& w_;
  const AttentionPlan& plan_;
  const RootOrder& order_;
  const TableRows& rows_;
  Activations& activations_;
  std::int64_t heads_;
  std::int64_t width_;
};

/// Gradients of the states and the weights.
struct Gradients {
  Tensor states;
  AttentionWeights weights;
};

/// Computes gradients of states and weights from that of the result. Rows without a gradient cost
/// nothing. Names that begin with d are gradients.
class Backward {
 public:
  Backward(const Tensor& states, const AttentionWeights& w, const LayerCall& call)
      : states_(states),
        w_(w),
        plan_(*call.plan),
        call_(call),
        activations_(call.activations),
        heads_(plan_.heads),
        width_(states.size(1)) {}

  Gradients run(const Tensor& dz, bool wants_states) {
    through_output(dz);
    through_attention();
    through_projections();
    if (wants_states) add_states();
    return std::move(d_);
  }

 private:
  /// Backward through norm, ReLU and dropout, then the two halves of the output map.
  void through_output(const Tensor& dz) {
    // Roots that have a gradient, as positions in the order, where those with neighbours come
    // first.
    std::vector<std::int64_t> active = elements_at(
        call_.order.position, kernels::rows_with_values(float_data(dz), dz.size(0), dz.size(1)));
    std::sort(active.begin(), active.end());
    attending_.assign(active.begin(),
                      std::lower_bound(active.begin(), active.end(), call_.order.num_attending));
    const std::vector<std::int64_t> roots = elements_at(call_.order.roots, active);

    const Tensor dnormed = empty_matrix(std::ssize(active), width_);
    kernels::gather(float_data(dz), roots, width_, float_data(dnormed));
    const Tensor dmixed = empty_floats_like(dnormed);
    d_.weights.gamma = empty_floats_like(w_.gamma);
    d_.weights.beta = empty_floats_like(w_.beta);
    kernels::layer_norm_backward(
        norm_input(plan_, call_.order, activations_.mixed, w_), active,
        float_data(activations_.mean), float_data(activations_.inverse_std), float_data(dnormed),
        float_data(dmixed), float_data(d_.weights.gamma), float_data(d_.weights.beta));
    dmixed_by_query_ = empty_matrix(plan_.num_queries, width_);
    kernels::sum_groups(
        float_data(dmixed),
        kernels::RowGroups::of(elements_at(plan_.queries, roots), plan_.num_queries), width_,
        float_data(dmixed_by_query_));
    const Tensor dattending = dmixed.narrow(0, 0, std::ssize(attending_));
    d_.weights.out = empty_floats_like(w_.out);
    multiply_into(dattending.t(), subset_of_rows(activations_.values, attending_),
                  neighbor_half(d_.weights.out));
    multiply_into(dmixed_by_query_.t(), states_.narrow(0, 0, plan_.num_queries),
                  root_half(d_.weights.out));
    d_.weights.out_bias = sum_of_rows(dmixed_by_query_);
    dvalues_ = matrix_product(dattending, neighbor_half(w_.out));
  }

  /// Backward through the maps after the sum over neighbours, the attention, and the maps of its
  /// queries.
  void through_attention() {
    const Tensor dtimes = through_sums(activations_.times, w_.value_time, d_.weights.value_time);
    const Tensor dedges = through_sums(activations_.edges, w_.value_edge, d_.weights.value_edge);
    const std::vector<std::int64_t> roots = elements_at(call_.order.roots, attending_);
    const TableSubset& of_forward = call_.states_used;
    const Projections& all = activations_.projections;
    const TableSubset used(plan_, roots, of_forward.rows.of_roots, all.q.size(0),
                           of_forward.rows.of_slots, all.kv.size(0));
    query_states_ = elements_at(of_forward.queries, used.queries);
    key_states_ = elements_at(of_forward.keys, used.keys);
    const Projections projections = all.subset(used);
    dq_ = empty_floats_like(projections.q);
    dkv_ = empty_floats_like(projections.kv);
    const Tensor dqt = projections.qt.defined() ? empty_floats_like(projections.qt) : Tensor();
    const Tensor dqe = projections.qe.defined() ? empty_floats_like(projections.qe) : Tensor();
    kernels::attend_backward(attention_input(plan_, used.rows, roots, projections),
                             {.computed = attending_,
                              .weights = float_data(activations_.weights),
                              .values = float_data(dvalues_),
                              .times = float_data(dtimes),
                              .edges = float_data(dedges)},
                             {.num_queries = dq_.size(0),
                              .num_rows = dkv_.size(0),
                              .q = float_data(dq_),
                              .qt = float_data(dqt),
                              .qe = float_data(dqe),
                              .kv = float_data(dkv_)});
    through_mapped_queries(projections.q, dqt, w_.key_time, d_.weights.key_time);
    through_mapped_queries(projections.q, dqe, w_.key_edge, d_.weights.key_edge);
  }

  /// The gradient of the sums that `map` was applied to, and of the map.
  Tensor through_sums(const Tensor& sums, const Tensor& map, Tensor& dmap) const {
    const Tensor dsums = empty_matrix(dvalues_.size(0), sums.size(1));
    if (!is_present(map)) return dsums;
    const Tensor used_sums = subset_of_rows(sums, attending_);
    dmap = empty_floats_like(map);
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Tensor dvalue = head_columns(dvalues_, h, heads_);
      multiply_into(dvalue.t(), head_columns(used_sums, h, heads_), head_rows(dmap, h, heads_));
      multiply_into(dvalue, head_rows(map, h, heads_), head_columns(dsums, h, heads_));
    }
    return dsums;
  }

  /// Adds the part of the queries' gradient that comes through `map`; returns the gradient of the
  /// map.
  void through_mapped_queries(const Tensor& q, const Tensor& dmapped, const Tensor& map,
                              Tensor& dmap) {
    if (!is_present(map)) return;
    dmap = empty_floats_like(map);
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Tensor dhead = head_columns(dmapped, h, heads_);
      multiply_into(head_columns(q, h, heads_).t(), dhead, head_rows(dmap, h, heads_));
      multiply_into(dhead, head_rows(map, h, heads_).t(), head_columns(dq_, h, heads_),
                    /*add=*/true);
    }
  }

  void through_projections() {
    const Tensor attended = subset_of_rows(states_, key_states_);
    const Tensor dk = key_half(dkv_);
    const Tensor dv = value_half(dkv_);
    d_.weights.query = matrix_product(dq_.t(), subset_of_rows(states_, query_states_));
    d_.weights.query_bias = sum_of_rows(dq_);
    if (plan_.phi.defined()) {
      d_.weights.query_time = matrix_product(d_.weights.query_bias.unsqueeze(1), plan_.now);
    }
    d_.weights.key = matrix_product(dk.t(), attended);
    d_.weights.key_bias = sum_of_rows(dk);
    d_.weights.value = matrix_product(dv.t(), attended);
    d_.weights.value_bias = sum_of_rows(dv);
  }

  /// A state takes part as a root, as a query and as a key and value.
  void add_states() {
    d_.states = empty_matrix(states_.size(0), width_);
    multiply_into(dmixed_by_query_, root_half(w_.out), d_.states.narrow(0, 0, plan_.num_queries));
    d_.states.narrow(0, plan_.num_queries, states_.size(0) - plan_.num_queries).zero_();
    kernels::add_rows(float_data(matrix_product(dq_, w_.query)), query_states_, width_,
                      float_data(d_.states));
    const Tensor dattended = matrix_product(key_half(dkv_), w_.key);
    multiply_into(value_half(dkv_), w_.value, dattended, /*add=*/true);
    kernels::add_rows(float_data(dattended), key_states_, width_, float_data(d_.states));
  }

  const Tensor& states_;
  const AttentionWeights& w_;
  const AttentionPlan& plan_;
  const LayerCall& call_;
  const Activations& activations_;
  std::int64_t heads_;
  std::int64_t width_;
  std::vector<std::int64_t> attending_;     // roots with neighbours and a gradient, as positions
  std::vector<std::int64_t> query_states_;  // states that are queries of those
  std::vector<std::int64_t> key_states_;    // states that those attend to
  Tensor dmixed_by_query_;                  // [Q,D]: sums over the roots of each query
  Tensor dvalues_;                          // [attending,D]
  Tensor dq_;                               // [queries,D]
  Tensor dkv_;                              // [keys,2D]
  Gradients d_;
};

AttentionWeights unpacked(at::TensorList list) {
  AttentionWeights weights;
  for (std::size_t i = 0; i < kAttentionWeights.size(); ++i) {
    weights.*kAttentionWeights[i] = list[i];
  }
  return weights;
}
void append(const AttentionWeights& weights, variable_list& list) {
  for (const auto weight : kAttentionWeights) list.push_back(weights.*weight);
}

struct Attention : Function<Attention> {
  static Tensor forward(AutogradContext* context, const Tensor& states, at::TensorList weights,
                        const SharedPlan& plan) {
    auto call = c10::make_intrusive<LayerCall>(plan, states.size(0));
    const AttentionWeights w = unpacked(weights);
    const TableSubset& used = call->states_used;
    Projections& projections = call->activations.projections;
    project_queries(subset_of_rows(states, used.queries), w, plan->now, plan->heads, projections);
    projections.kv = keys_and_values(subset_of_rows(states, used.keys), w);
    Tensor z = Forward(w, *plan, call->order, used.rows, call->activations)
                   .run(own_part(states.narrow(0, 0, plan->num_queries), w));
    variable_list saved = {states};
    saved.insert(saved.end(), weights.begin(), weights.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["call"] = c10::IValue::make_capsule(std::move(call));
    return z;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const auto call =
        c10::static_intrusive_pointer_cast<LayerCall>(context->saved_data["call"].toCapsule());
    const Gradients d = Backward(saved[0], unpacked(at::TensorList(saved).slice(1)), *call)
                            .run(incoming[0].contiguous(), context->needs_input_grad(0));
    variable_list gradients = {d.states};
    append(d.weights, gradients);
    gradients.emplace_back();  // of the plan
    return gradients;
  }
};

AttentionWeights contiguous(AttentionWeights weights) {
  for (const auto weight : kAttentionWeights) {
    weights.*weight = contiguous_or_empty(weights.*weight);
  }
  return weights;
}

/// The plan itself if its tensors are contiguous, otherwise a copy with contiguous tensors.
SharedPlan with_contiguous_tensors(SharedPlan plan) {
  constexpr std::array kTensors = {&AttentionPlan::phi, &AttentionPlan::now, &AttentionPlan::edges,
                                   &AttentionPlan::weight_mask, &AttentionPlan::output_mask};
  const auto is_readable = [&](Tensor AttentionPlan::*tensor) {
    return !((*plan).*tensor).defined() || ((*plan).*tensor).is_contiguous();
  };
  if (std::all_of(kTensors.begin(), kTensors.end(), is_readable)) return plan;
  auto copy = std::make_shared<AttentionPlan>(*plan);
  for (const auto tensor : kTensors) {
    if (((*copy).*tensor).defined()) (*copy).*tensor = ((*copy).*tensor).contiguous();
  }
  return copy;
}

}  // namespace

Tensor attention(const Tensor& states, const AttentionWeights& weights, SharedPlan plan) {
  variable_list list;
  append(contiguous(weights), list);
  return Attention::apply(contiguous_or_empty(states), at::TensorList(list),
                          with_contiguous_tensors(std::move(plan)));
}

AttentionTables root_tables(const Tensor& states, const AttentionWeights& weights,
                            const Tensor& now, std::int64_t heads) {
  const NoGradGuard no_grad;
  const Tensor rows = with_contiguous_rows(states);
  const AttentionWeights w = contiguous(weights);
  Projections p;
  project_queries(rows, w, now, heads, p);
  return {.q = p.q, .qt = p.qt, .qe = p.qe, .own = own_part(rows, w)};
}

Tensor neighbor_table(const Tensor& states, const AttentionWeights& weights) {
  const NoGradGuard no_grad;
  return keys_and_values(with_contiguous_rows(states), contiguous(weights));
}

Tensor attention(const AttentionTables& tables, const AttentionWeights& weights, SharedPlan given) {
  const NoGradGuard no_grad;
  const AttentionWeights w = contiguous(weights);
  const SharedPlan plan = with_contiguous_tensors(std::move(given));
  const RootOrder order(plan->counts);
  const TableRows rows{.of_roots = plan->queries, .of_slots = plan->rows};
  Activations activations{
      .projections = {.q = tables.q, .qt = tables.qt, .qe = tables.qe, .kv = tables.kv}};
  return Forward(w, *plan, order, rows, activations).run(tables.own);
}

}  // namespace curnm
