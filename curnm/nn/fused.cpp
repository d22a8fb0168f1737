#include "curnm/nn/fused.h"

#include <cmath>
#include <span>

#include "curnm/nn/kernels/attention.h"
#include "curnm/nn/kernels/elementwise.h"
#include "curnm/nn/kernels/link.h"
#include "curnm/nn/kernels/norm.h"
#include "curnm/nn/kernels/rows.h"

namespace curnm {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

std::span<const std::int64_t> indices(const Tensor& rows) {
  return {rows.data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.numel())};
}

// LibTorch does not pass undefined tensors to functions: what is absent is empty there.
Tensor or_empty(const Tensor& tensor) {
  return tensor.defined() ? tensor : torch::empty({0}, torch::kFloat32);
}
bool is_present(const Tensor& tensor) { return tensor.defined() && tensor.numel() > 0; }

const float* read(const Tensor& tensor) {
  return is_present(tensor) ? tensor.data_ptr<float>() : nullptr;
}
float* write(const Tensor& tensor) {
  return is_present(tensor) ? tensor.data_ptr<float>() : nullptr;
}
Tensor like(const Tensor& tensor) { return torch::empty(tensor.sizes(), torch::kFloat32); }

struct GatherRows : Function<GatherRows> {
  static Tensor forward(AutogradContext* context, const Tensor& table, const Tensor& rows) {
    context->save_for_backward({rows});
    context->saved_data["targets"] = table.size(0);
    Tensor out = torch::empty({rows.numel(), table.size(1)}, torch::kFloat32);
    kernels::gather(read(table), indices(rows), table.size(1), write(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const Tensor rows = context->get_saved_variables()[0];
    const Tensor gradient = incoming[0].contiguous();
    const std::int64_t targets = context->saved_data["targets"].toInt();
    Tensor sum = torch::empty({targets, gradient.size(1)}, torch::kFloat32);
    kernels::sum_groups(read(gradient), kernels::RowGroups::of(indices(rows), targets),
                        gradient.size(1), write(sum));
    return {sum, Tensor()};
  }
};

kernels::LinkInput link_input(const Tensor& sources, const Tensor& source_of,
                              const Tensor& destinations, const Tensor& destination_of,
                              const Tensor& weight) {
  return {.width = sources.size(1),
          .num_sources = sources.size(0),
          .num_destinations = destinations.size(0),
          .source_of = indices(source_of),
          .destination_of = indices(destination_of),
          .sources = read(sources),
          .destinations = read(destinations),
          .weight = read(weight)};
}

struct LinkLogits : Function<LinkLogits> {
  static Tensor forward(AutogradContext* context, const Tensor& sources, const Tensor& source_of,
                        const Tensor& destinations, const Tensor& destination_of,
                        const Tensor& weight, const Tensor& bias) {
    context->save_for_backward({sources, source_of, destinations, destination_of, weight});
    Tensor logits = torch::empty({source_of.numel()}, torch::kFloat32);
    kernels::link_logits(link_input(sources, source_of, destinations, destination_of, weight),
                         bias.item<float>(), write(logits));
    return logits;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    const auto wanted = [&](std::size_t input, const Tensor& shape) {
      return context->needs_input_grad(input) ? like(shape) : Tensor();
    };
    const Tensor sources = wanted(0, saved[0]);
    const Tensor destinations = wanted(2, saved[2]);
    const Tensor weight = wanted(4, saved[4]);
    kernels::link_logits_backward(
        link_input(saved[0], saved[1], saved[2], saved[3], saved[4]), read(gradient),
        {.sources = write(sources), .destinations = write(destinations), .weight = write(weight)});
    return {sources, Tensor(), destinations, Tensor(), weight, gradient.sum().view({1})};
  }
};

struct SplitLink : Function<SplitLink> {
  static variable_list forward(AutogradContext* context, const Tensor& sources,
                               const Tensor& source_of, const Tensor& wholes,
                               const Tensor& whole_of, const Tensor& parts, const Tensor& weight,
                               const Tensor& bias, const Tensor& rest_bias) {
    context->save_for_backward({sources, source_of, wholes, whole_of, parts, weight, rest_bias});
    Tensor of_parts = torch::empty({source_of.numel()}, torch::kFloat32);
    Tensor of_rests = torch::empty({source_of.numel()}, torch::kFloat32);
    kernels::split_logits({.link = link_input(sources, source_of, wholes, whole_of, weight),
                           .parts = read(parts),
                           .rest_bias = read(rest_bias)},
                          bias.item<float>(), write(of_parts), write(of_rests));
    return {of_parts, of_rests};
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor dparts = incoming[0].contiguous();
    const Tensor drests = incoming[1].contiguous();
    const Tensor sources = like(saved[0]);
    const Tensor wholes = like(saved[2]);
    const Tensor parts = like(saved[4]);
    const Tensor weight = like(saved[5]);
    const Tensor rest_bias = like(saved[6]);
    kernels::split_logits_backward(
        {.link = link_input(saved[0], saved[1], saved[2], saved[3], saved[5]),
         .parts = read(saved[4]),
         .rest_bias = read(saved[6])},
        read(dparts), read(drests),
        {.link = {.sources = write(sources),
                  .destinations = write(wholes),
                  .weight = write(weight)},
         .parts = write(parts),
         .rest_bias = write(rest_bias)});
    return {sources,
            Tensor(),
            wholes,
            Tensor(),
            parts,
            weight,
            (dparts.sum() + drests.sum()).view({1}),
            rest_bias};
  }
};

struct Standardise : Function<Standardise> {
  static Tensor forward(AutogradContext* context, const Tensor& x, double mean, double std) {
    context->save_for_backward({x});
    context->saved_data["mean"] = mean;
    context->saved_data["std"] = std;
    Tensor y = like(x);
    kernels::standardise(read(x), x.numel(), of(mean, std), write(y));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const Tensor x = context->get_saved_variables()[0];
    const Tensor gradient = incoming[0].contiguous();
    Tensor dx = like(x);
    kernels::standardise_backward(
        read(x), x.numel(),
        of(context->saved_data["mean"].toDouble(), context->saved_data["std"].toDouble()),
        read(gradient), write(dx));
    return {dx, Tensor(), Tensor()};
  }

 private:
  static kernels::Moments of(double mean, double std) {
    return {static_cast<float>(mean), static_cast<float>(std)};
  }
};

struct GruCell : Function<GruCell> {
  static Tensor forward(AutogradContext* context, const Tensor& in, const Tensor& hidden,
                        const Tensor& h) {
    Tensor gates = like(in);
    Tensor out = like(h);
    kernels::gru(input(in, hidden, h), write(gates), write(out));
    context->save_for_backward({hidden, h, gates});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    Tensor in = like(saved[2]);
    Tensor hidden = like(saved[2]);
    kernels::gru_backward(input(Tensor(), saved[0], saved[1]), read(saved[2]), read(gradient),
                          write(in), write(hidden));
    return {in, hidden, Tensor()};
  }

 private:
  static kernels::GruInput input(const Tensor& in, const Tensor& hidden, const Tensor& h) {
    return {.rows = h.size(0),
            .width = h.size(1),
            .in = read(in),
            .hidden = read(hidden),
            .h = read(h)};
  }
};

struct Gated : Function<Gated> {
  static variable_list forward(AutogradContext* context, const Tensor& of_context,
                               const Tensor& owner, const Tensor& own, const Tensor& h,
                               const Tensor& scale) {
    Tensor gate = like(h);
    Tensor out = like(h);
    kernels::gated(input(of_context, owner, own, h, scale), write(gate), write(out));
    context->save_for_backward({owner, h, scale, gate});
    context->saved_data["contexts"] = of_context.size(0);
    context->mark_non_differentiable({gate});
    return {out, gate};
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& owner = saved[0];
    const Tensor& h = saved[1];
    const Tensor& scale = saved[2];
    const Tensor gradient = incoming[0].contiguous();
    Tensor own = like(h);
    Tensor dh = context->needs_input_grad(3) ? like(h) : Tensor();
    Tensor dscale = is_present(scale) && context->needs_input_grad(4) ? like(h) : Tensor();
    kernels::gated_backward(input(Tensor(), owner, Tensor(), h, scale), read(saved[3]),
                            read(gradient), write(own), write(dh), write(dscale));
    const std::int64_t contexts = context->saved_data["contexts"].toInt();
    Tensor of_context = torch::empty({contexts, h.size(1)}, torch::kFloat32);
    kernels::sum_groups(read(own), kernels::RowGroups::of(indices(owner), contexts), h.size(1),
                        write(of_context));
    return {of_context, Tensor(), own, dh, dscale};
  }

 private:
  static kernels::GatedInput input(const Tensor& context, const Tensor& owner, const Tensor& own,
                                   const Tensor& h, const Tensor& scale) {
    return {.rows = h.size(0),
            .width = h.size(1),
            .owner = indices(owner),
            .context = read(context),
            .own = read(own),
            .h = read(h),
            .scale = read(scale)};
  }
};

using Plan = std::shared_ptr<const AttentionPlan>;

std::int64_t columns(const Tensor& tensor) { return tensor.defined() ? tensor.size(1) : 0; }

kernels::AttentionInput attention_input(const AttentionPlan& plan, const Tensor& q,
                                        const Tensor& qt, const Tensor& qe, const Tensor& kv) {
  return {.heads = plan.heads,
          .neighbors = plan.neighbors,
          .width = q.size(1),
          .time_width = columns(plan.phi),
          .edge_width = columns(plan.edges),
          .queries = plan.queries,
          .counts = plan.counts,
          .rows = plan.rows,
          .features = plan.features,
          .q = read(q),
          .qt = read(qt),
          .qe = read(qe),
          .kv = read(kv),
          .phi = read(plan.phi),
          .edges = read(plan.edges),
          .mask = read(plan.weight_mask)};
}

/// Columns h of a [n, H·w] matrix.
Tensor head(const Tensor& matrix, std::int64_t h, std::int64_t heads) {
  const std::int64_t width = matrix.size(1) / heads;
  return matrix.narrow(1, h * width, width);
}
/// Rows of a [D,w] map that make head h.
Tensor head_rows(const Tensor& map, std::int64_t h, std::int64_t heads) {
  const std::int64_t width = map.size(0) / heads;
  return map.narrow(0, h * width, width);
}

struct Attention : Function<Attention> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& qt,
                        const Tensor& qe, const Tensor& kv, const Tensor& own,
                        const Tensor& value_time, const Tensor& value_edge, const Tensor& out,
                        const Tensor& gamma, const Tensor& beta, const Plan& plan) {
    const auto roots = static_cast<std::int64_t>(plan->counts.size());
    const std::int64_t heads = plan->heads;
    const auto matrix = [&](std::int64_t width) {
      return torch::empty({roots, width}, torch::kFloat32);
    };
    Tensor weights = matrix(plan->neighbors * heads);
    Tensor values = matrix(q.size(1));
    Tensor times = matrix(heads * columns(plan->phi));
    Tensor edges = matrix(heads * columns(plan->edges));
    kernels::attend(attention_input(*plan, q, qt, qe, kv),
                    {write(weights), write(values), write(times), write(edges)});
    const auto project = [&](const Tensor& sums, const Tensor& map) {
      if (!is_present(map)) return;
      for (std::int64_t h = 0; h < heads; ++h) {
        head(values, h, heads).addmm_(head(sums, h, heads), head_rows(map, h, heads).t());
      }
    };
    project(times, value_time);
    project(edges, value_edge);
    Tensor mixed = matrix(own.size(1));
    kernels::gather(read(own), plan->queries, own.size(1), write(mixed));
    mixed.addmm_(values, out.t());
    Tensor z = like(mixed);
    Tensor centre = torch::empty({roots}, torch::kFloat32);
    Tensor rate = torch::empty({roots}, torch::kFloat32);
    kernels::relu_norm(norm_input(*plan, mixed, gamma, beta), write(z), write(centre), write(rate));
    context->save_for_backward({q, qt, qe, kv, value_time, value_edge, out, gamma, beta, weights,
                                values, times, edges, mixed, centre, rate});
    context->saved_data["plan"] = c10::IValue::make_capsule(c10::make_intrusive<PlanHolder>(plan));
    return z;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const auto& [q, qt, qe, kv] = std::tie(saved[0], saved[1], saved[2], saved[3]);
    const auto& [value_time, value_edge, out] = std::tie(saved[4], saved[5], saved[6]);
    const auto& [gamma, beta, weights] = std::tie(saved[7], saved[8], saved[9]);
    const auto& [values, times, edges] = std::tie(saved[10], saved[11], saved[12]);
    const auto& [mixed, centre, rate] = std::tie(saved[13], saved[14], saved[15]);
    const Plan plan =
        c10::static_intrusive_pointer_cast<PlanHolder>(context->saved_data["plan"].toCapsule())
            ->plan;
    const std::int64_t heads = plan->heads;
    const Tensor dz = incoming[0].contiguous();
    const std::vector<std::int64_t> active =
        kernels::rows_with_values(read(dz), dz.size(0), dz.size(1));
    const auto compact = [&](const Tensor& all) {
      if (std::ssize(active) == all.size(0)) return all;
      Tensor part = torch::empty({std::ssize(active), all.size(1)}, torch::kFloat32);
      kernels::gather(read(all), active, all.size(1), write(part));
      return part;
    };

    Tensor dmixed = torch::empty({std::ssize(active), dz.size(1)}, torch::kFloat32);
    Tensor dgamma = like(gamma);
    Tensor dbeta = like(beta);
    kernels::relu_norm_backward(norm_input(*plan, mixed, gamma, beta), active, read(centre),
                                read(rate), read(compact(dz)), write(dmixed), write(dgamma),
                                write(dbeta));
    std::vector<std::int64_t> queries;
    queries.reserve(active.size());
    for (std::int64_t r : active) queries.push_back(plan->queries[static_cast<std::size_t>(r)]);
    Tensor down = like(q);
    kernels::sum_groups(read(dmixed), kernels::RowGroups::of(queries, q.size(0)), q.size(1),
                        write(down));
    const Tensor dout = dmixed.t().mm(compact(values));
    const Tensor dvalues = dmixed.mm(out);

    // The maps behind the aggregation: their gradient, and that of the sums they were applied to.
    const auto project_back = [&](const Tensor& sums, const Tensor& map, Tensor& dmap) {
      Tensor dsums = torch::empty({dvalues.size(0), sums.size(1)}, torch::kFloat32);
      if (!is_present(map)) return dsums;
      const Tensor of_active = compact(sums);
      dmap = like(map);
      for (std::int64_t h = 0; h < heads; ++h) {
        const Tensor dvalue = head(dvalues, h, heads);
        head_rows(dmap, h, heads).copy_(dvalue.t().mm(head(of_active, h, heads)));
        head(dsums, h, heads).copy_(dvalue.mm(head_rows(map, h, heads)));
      }
      return dsums;
    };
    Tensor dvalue_time;
    Tensor dvalue_edge;
    const Tensor dtimes = project_back(times, value_time, dvalue_time);
    const Tensor dedges = project_back(edges, value_edge, dvalue_edge);

    Tensor dq = like(q);
    Tensor dqt = is_present(qt) ? like(qt) : Tensor();
    Tensor dqe = is_present(qe) ? like(qe) : Tensor();
    Tensor dkv = like(kv);
    kernels::attend_backward(attention_input(*plan, q, qt, qe, kv),
                             {.active = active,
                              .weights = read(weights),
                              .values = read(dvalues),
                              .times = read(dtimes),
                              .edges = read(dedges)},
                             {.num_queries = q.size(0),
                              .num_rows = kv.size(0),
                              .q = write(dq),
                              .qt = write(dqt),
                              .qe = write(dqe),
                              .kv = write(dkv)});
    return {dq, dqt, dqe, dkv, down, dvalue_time, dvalue_edge, dout, dgamma, dbeta, Tensor()};
  }

 private:
  /// Keeps the plan alive from the way there to the way back.
  struct PlanHolder : torch::CustomClassHolder {
    explicit PlanHolder(Plan held) : plan(std::move(held)) {}
    Plan plan;
  };

  static kernels::NormInput norm_input(const AttentionPlan& plan, const Tensor& mixed,
                                       const Tensor& gamma, const Tensor& beta) {
    return {.rows = mixed.size(0),
            .width = mixed.size(1),
            .x = read(mixed),
            .mask = read(plan.output_mask),
            .gamma = read(gamma),
            .beta = read(beta)};
  }
};

}  // namespace

Tensor gather_rows(const Tensor& table, const Tensor& rows) {
  return GatherRows::apply(table, rows);
}

Tensor select_rows(const Tensor& table, const Tensor& rows, Path path) {
  return has_kernels(path, table) ? gather_rows(table, rows) : table.index_select(0, rows);
}

Tensor link_logits(const Tensor& sources, const Tensor& source_of, const Tensor& destinations,
                   const Tensor& destination_of, const Tensor& weight, const Tensor& bias) {
  return LinkLogits::apply(sources, source_of, destinations, destination_of, weight, bias);
}

SplitLogits split_logits(const Tensor& sources, const Tensor& source_of, const Tensor& wholes,
                         const Tensor& whole_of, const Tensor& parts, const Tensor& weight,
                         const Tensor& bias, const Tensor& rest_bias) {
  const variable_list result =
      SplitLink::apply(sources, source_of, wholes, whole_of, parts, weight, bias, rest_bias);
  return {result[0], result[1]};
}

Tensor standardise(const Tensor& x) {
  const Tensor flat = x.contiguous();
  const kernels::Moments of = kernels::moments(read(flat), flat.numel());
  // Differences that are mere rounding must not be blown up, nor their gradients.
  if (!(of.std > 1e-6F * std::abs(of.mean)) && !std::isnan(of.std)) return torch::ones_like(x);
  return Standardise::apply(flat, of.mean, of.std);
}

Tensor gru_cell(const Tensor& in, const Tensor& hidden, const Tensor& h) {
  return GruCell::apply(in, hidden, h);
}

Tensor gated(const Tensor& context, const Tensor& owner, const Tensor& own, const Tensor& h,
             const Tensor& scale, Tensor* gate) {
  const variable_list result = Gated::apply(context, owner, own, h, or_empty(scale));
  if (gate != nullptr) *gate = result[1];
  return result[0];
}

Tensor attention(const AttentionTensors& t, Plan plan) {
  return Attention::apply(t.q, or_empty(t.qt), or_empty(t.qe), t.kv, t.own, or_empty(t.value_time),
                          or_empty(t.value_edge), t.out, t.gamma, t.beta, plan);
}

}  // namespace curnm
