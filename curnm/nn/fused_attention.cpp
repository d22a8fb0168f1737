#include "curnm/nn/fused_attention.h"

#include <algorithm>
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

/// Distinct rows of a matrix; the matrix itself where they are all of it, in order.
Tensor rows_of(const Tensor& table, const std::vector<std::int64_t>& rows) {
  if (std::ssize(rows) == table.size(0) && std::is_sorted(rows.begin(), rows.end())) return table;
  Tensor part = matrix(std::ssize(rows), table.size(1));
  kernels::gather(data(table), rows, table.size(1), data(part));
  return part;
}

/// Where there is work: only states that someone attends to need a key and a value, only roots with
/// a neighbour a query. The others are mapped by W_o alone.
struct Work {
  explicit Work(const AttentionPlan& plan, std::int64_t num_states)
      : queries(plan.queries.size(), 0), rows(plan.rows.size(), 0), position(plan.queries.size()) {
    DistinctRows asking_states(plan.num_queries);
    DistinctRows attended_states(num_states);
    const auto slots = static_cast<std::size_t>(plan.neighbors);
    for (std::size_t r = 0; r < plan.counts.size(); ++r) {
      if (plan.counts[r] == 0) continue;
      order.push_back(static_cast<std::int64_t>(r));
      queries[r] = asking_states.row(plan.queries[r]);
      const std::size_t end = r * slots + static_cast<std::size_t>(plan.counts[r]);
      for (std::size_t slot = r * slots; slot < end; ++slot) {
        rows[slot] = attended_states.row(plan.rows[slot]);
      }
    }
    busy = std::ssize(order);
    for (std::size_t r = 0; r < plan.counts.size(); ++r) {
      if (plan.counts[r] == 0) order.push_back(static_cast<std::int64_t>(r));
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      position[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    asking.assign(asking_states.keys().begin(), asking_states.keys().end());
    attended.assign(attended_states.keys().begin(), attended_states.keys().end());
  }

  std::span<const std::int64_t> busy_roots() const {
    return std::span(order).first(static_cast<std::size_t>(busy));
  }

  std::vector<std::int64_t> asking;    // states: row i of q belongs to asking[i]
  std::vector<std::int64_t> attended;  // states: row i of kv belongs to attended[i]
  std::vector<std::int64_t> queries;   // [R]: rows of q
  std::vector<std::int64_t> rows;      // [R,K]: rows of kv
  std::vector<std::int64_t> order;     // [R]: roots with neighbours, then those without
  std::vector<std::int64_t> position;  // [R]: where in `order`
  std::int64_t busy = 0;               // B: roots with neighbours
};

/// What the way there computes and the way back needs again. Roots are in the order of `work`.
struct Kept {
  Tensor q;        // [asking,D]
  Tensor qt;       // [asking,H·T]: W_t^T q, head by head
  Tensor qe;       // [asking,H·F]
  Tensor kv;       // [attended,2D]
  Tensor weights;  // [B,K·H]
  Tensor values;   // [B,D]: sums over neighbours, after the maps of times and features
  Tensor times;    // [B,H·T]: sums over neighbours
  Tensor edges;    // [B,H·F]
  Tensor mixed;    // [R,D]: before dropout, ReLU and norm
  Tensor centre;   // [R]
  Tensor rate;     // [R]
};

kernels::AttentionInput attention_input(const AttentionPlan& plan, const Work& work,
                                        std::span<const std::int64_t> roots, const Kept& kept) {
  return {.heads = plan.heads,
          .neighbors = plan.neighbors,
          .width = kept.q.size(1),
          .time_width = columns(plan.phi),
          .edge_width = columns(plan.edges),
          .roots = roots,
          .queries = work.queries,
          .counts = plan.counts,
          .rows = work.rows,
          .features = plan.features,
          .q = data(kept.q),
          .qt = data(kept.qt),
          .qe = data(kept.qe),
          .kv = data(kept.kv),
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

/// Picks elements of a list.
std::vector<std::int64_t> at(const std::vector<std::int64_t>& list,
                             std::span<const std::int64_t> indices) {
  std::vector<std::int64_t> picked;
  picked.reserve(indices.size());
  for (std::int64_t i : indices) picked.push_back(list[static_cast<std::size_t>(i)]);
  return picked;
}

/// The whole layer. `z` receives the result.
Kept there(const Tensor& states, const AttentionWeights& w, const AttentionPlan& plan,
           const Work& work, Tensor& z) {
  const auto roots = static_cast<std::int64_t>(plan.counts.size());
  const std::int64_t heads = plan.heads;
  const std::int64_t width = states.size(1);
  Kept kept;
  kept.q = affine(rows_of(states, work.asking), w.query,
                  plan.phi.defined() ? affine(plan.now, w.query_time, w.query_bias) : w.query_bias);
  const auto queries_of = [&](const Tensor& map) {
    if (!is_present(map)) return Tensor();
    Tensor mapped = matrix(kept.q.size(0), heads * map.size(1));
    for (std::int64_t h = 0; h < heads; ++h) {
      multiply(head(kept.q, h, heads), head_rows(map, h, heads), head(mapped, h, heads));
    }
    return mapped;
  };
  kept.qt = queries_of(w.key_time);
  kept.qe = queries_of(w.key_edge);
  const Tensor attended = rows_of(states, work.attended);
  kept.kv = matrix(attended.size(0), 2 * width);
  affine_into(attended, w.key, w.key_bias, head(kept.kv, 0, 2));
  affine_into(attended, w.value, w.value_bias, head(kept.kv, 1, 2));

  kept.weights = matrix(work.busy, plan.neighbors * heads);
  kept.values = matrix(work.busy, width);
  kept.times = matrix(work.busy, heads * columns(plan.phi));
  kept.edges = matrix(work.busy, heads * columns(plan.edges));
  kernels::attend(attention_input(plan, work, work.busy_roots(), kept),
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
  kernels::relu_norm(norm_input(plan, work, kept.mixed, w), data(z), data(kept.centre),
                     data(kept.rate));
  return kept;
}

/// The gradients of states and weights from that of the result.
struct Gradients {
  Tensor states;
  AttentionWeights weights;
};
Gradients back(const Tensor& states, const AttentionWeights& w, const AttentionPlan& plan,
               const Work& work, const Kept& kept, const Tensor& dz, bool wants_states) {
  const std::int64_t heads = plan.heads;
  const std::int64_t width = states.size(1);
  // Roots that have a gradient, by their position in the order of `work`: those with neighbours
  // come first.
  std::vector<std::int64_t> active =
      at(work.position, kernels::rows_with_values(data(dz), dz.size(0), dz.size(1)));
  std::sort(active.begin(), active.end());
  const auto first_idle = std::lower_bound(active.begin(), active.end(), work.busy);
  const std::vector<std::int64_t> busy(active.begin(), first_idle);
  const std::vector<std::int64_t> roots = at(work.order, active);
  const std::vector<std::int64_t> busy_roots = at(work.order, busy);
  Gradients d;

  // Norm, ReLU and dropout, then the two halves of the output map.
  Tensor dnormed = matrix(std::ssize(active), width);
  kernels::gather(data(dz), roots, width, data(dnormed));
  const Tensor dmixed = like(dnormed);
  d.weights.gamma = like(w.gamma);
  d.weights.beta = like(w.beta);
  kernels::relu_norm_backward(norm_input(plan, work, kept.mixed, w), active, data(kept.centre),
                              data(kept.rate), data(dnormed), data(dmixed), data(d.weights.gamma),
                              data(d.weights.beta));
  const Tensor down = matrix(plan.num_queries, width);
  kernels::sum_groups(data(dmixed),
                      kernels::RowGroups::of(at(plan.queries, roots), plan.num_queries), width,
                      data(down));
  const Tensor of_roots = states.narrow(0, 0, plan.num_queries);
  const Tensor dsummed = dmixed.narrow(0, 0, std::ssize(busy));
  d.weights.out = like(w.out);
  multiply(dsummed.t(), rows_of(kept.values, busy), for_gathered(d.weights.out));
  multiply(down.t(), of_roots, for_root(d.weights.out));
  d.weights.out_bias = sum_of_rows(down);
  const Tensor dvalues = product(dsummed, for_gathered(w.out));

  // The maps behind the sum over neighbours: their gradient, and that of the sums.
  const auto project_back = [&](const Tensor& sums, const Tensor& map, Tensor& dmap) {
    const Tensor dsums = matrix(dvalues.size(0), sums.size(1));
    if (!is_present(map)) return dsums;
    const Tensor of_busy = rows_of(sums, busy);
    dmap = like(map);
    for (std::int64_t h = 0; h < heads; ++h) {
      const Tensor dvalue = head(dvalues, h, heads);
      multiply(dvalue.t(), head(of_busy, h, heads), head_rows(dmap, h, heads));
      multiply(dvalue, head_rows(map, h, heads), head(dsums, h, heads));
    }
    return dsums;
  };
  const Tensor dtimes = project_back(kept.times, w.value_time, d.weights.value_time);
  const Tensor dedges = project_back(kept.edges, w.value_edge, d.weights.value_edge);

  const Tensor dq = like(kept.q);
  const Tensor dqt = kept.qt.defined() ? like(kept.qt) : Tensor();
  const Tensor dqe = kept.qe.defined() ? like(kept.qe) : Tensor();
  const Tensor dkv = like(kept.kv);
  kernels::attend_backward(attention_input(plan, work, busy_roots, kept),
                           {.computed = busy,
                            .weights = data(kept.weights),
                            .values = data(dvalues),
                            .times = data(dtimes),
                            .edges = data(dedges)},
                           {.num_queries = kept.q.size(0),
                            .num_rows = kept.kv.size(0),
                            .q = data(dq),
                            .qt = data(dqt),
                            .qe = data(dqe),
                            .kv = data(dkv)});
  const auto queries_back = [&](const Tensor& dmapped, const Tensor& map, Tensor& dmap) {
    if (!is_present(map)) return;
    dmap = like(map);
    for (std::int64_t h = 0; h < heads; ++h) {
      const Tensor of_head = head(dmapped, h, heads);
      multiply(head(kept.q, h, heads).t(), of_head, head_rows(dmap, h, heads));
      multiply(of_head, head_rows(map, h, heads).t(), head(dq, h, heads), /*add=*/true);
    }
  };
  queries_back(dqt, w.key_time, d.weights.key_time);
  queries_back(dqe, w.key_edge, d.weights.key_edge);

  const Tensor dk = head(dkv, 0, 2);
  const Tensor dv = head(dkv, 1, 2);
  const Tensor attended = rows_of(states, work.attended);
  d.weights.query = product(dq.t(), rows_of(states, work.asking));
  d.weights.query_bias = sum_of_rows(dq);
  if (plan.phi.defined()) {
    d.weights.query_time = product(d.weights.query_bias.unsqueeze(1), plan.now);
  }
  d.weights.key = product(dk.t(), attended);
  d.weights.key_bias = sum_of_rows(dk);
  d.weights.value = product(dv.t(), attended);
  d.weights.value_bias = sum_of_rows(dv);
  if (!wants_states) return d;
  d.states = matrix(states.size(0), width);
  multiply(down, for_root(w.out), d.states.narrow(0, 0, plan.num_queries));
  d.states.narrow(0, plan.num_queries, states.size(0) - plan.num_queries).zero_();
  kernels::add_rows(data(product(dq, w.query)), work.asking, width, data(d.states));
  const Tensor dattended = product(dk, w.key);
  multiply(dv, w.value, dattended, /*add=*/true);
  kernels::add_rows(data(dattended), work.attended, width, data(d.states));
  return d;
}

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
    const Gradients d = back(s[0], weights, *passage->plan, passage->work, passage->kept,
                             incoming[0].contiguous(), context->needs_input_grad(0));
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
