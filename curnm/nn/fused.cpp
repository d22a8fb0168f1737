#include "curnm/nn/fused.h"

#include <cmath>
#include <numeric>
#include <span>

#include "curnm/nn/floats.h"
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

/// The sum of all values of contiguous tensors, [1].
Tensor sum_of(std::initializer_list<Tensor> tensors) {
  double sum = 0;
  for (const Tensor& x : tensors) sum += kernels::sum_of_values(data(x), x.numel());
  return torch::full({1}, sum, torch::kFloat32);
}

/// f of every value, in parts that LibTorch leaves to one thread.
template <class F>
Tensor by_parts(const Tensor& x, const F& f) {
  constexpr std::int64_t kPart = at::internal::GRAIN_SIZE;
  if (x.numel() <= kPart) return f(x);
  std::vector<Tensor> parts;
  for (const Tensor& part : x.reshape(-1).split(kPart)) parts.push_back(f(part));
  return torch::cat(parts).view(x.sizes());
}

struct Total : Function<Total> {
  static Tensor forward(AutogradContext* context, const Tensor& x) {
    context->saved_data["shape"] = x.sizes();
    return sum_of({x}).squeeze(0);
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    return {incoming[0].expand(context->saved_data["shape"].toIntVector())};
  }
};

struct GatherRows : Function<GatherRows> {
  static Tensor forward(AutogradContext* context, const Tensor& table, const Tensor& rows) {
    context->save_for_backward({rows});
    context->saved_data["targets"] = table.size(0);
    Tensor out = torch::empty({rows.numel(), table.size(1)}, torch::kFloat32);
    kernels::gather(data(table), indices(rows), table.size(1), data(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const Tensor rows = context->get_saved_variables()[0];
    const Tensor gradient = incoming[0].contiguous();
    const std::int64_t targets = context->saved_data["targets"].toInt();
    Tensor sum = torch::empty({targets, gradient.size(1)}, torch::kFloat32);
    kernels::sum_groups(data(gradient), kernels::RowGroups::of(indices(rows), targets),
                        gradient.size(1), data(sum));
    return {sum, Tensor()};
  }
};

struct GatherScaled : Function<GatherScaled> {
  static Tensor forward(AutogradContext* context, const Tensor& table, const Tensor& rows,
                        const Tensor& factor, const Tensor& weight) {
    context->save_for_backward({table, rows, factor, weight});
    Tensor out = torch::empty({rows.numel(), table.size(1)}, torch::kFloat32);
    kernels::gather_scaled(input(table, rows, factor, weight), data(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    Tensor table = like(saved[0]);
    Tensor weight = like(saved[3]);
    kernels::gather_scaled_backward(input(saved[0], saved[1], saved[2], saved[3]), saved[0].size(0),
                                    data(gradient), data(table), data(weight));
    return {table, Tensor(), Tensor(), weight};
  }

 private:
  static kernels::ScaledInput input(const Tensor& table, const Tensor& rows, const Tensor& factor,
                                    const Tensor& weight) {
    return {.width = table.size(1),
            .rows = indices(rows),
            .table = data(table),
            .factor = data(factor),
            .weight = data(weight)};
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
          .sources = data(sources),
          .destinations = data(destinations),
          .weight = data(weight)};
}

struct LinkLogits : Function<LinkLogits> {
  static Tensor forward(AutogradContext* context, const Tensor& sources, const Tensor& source_of,
                        const Tensor& destinations, const Tensor& destination_of,
                        const Tensor& weight, const Tensor& bias) {
    context->save_for_backward({sources, source_of, destinations, destination_of, weight});
    Tensor logits = torch::empty({source_of.numel()}, torch::kFloat32);
    kernels::link_logits(link_input(sources, source_of, destinations, destination_of, weight),
                         bias.item<float>(), data(logits));
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
        link_input(saved[0], saved[1], saved[2], saved[3], saved[4]), data(gradient),
        {.sources = data(sources), .destinations = data(destinations), .weight = data(weight)});
    return {sources, Tensor(), destinations, Tensor(), weight, sum_of({gradient})};
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
                           .parts = data(parts),
                           .rest_bias = data(rest_bias)},
                          bias.item<float>(), data(of_parts), data(of_rests));
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
         .parts = data(saved[4]),
         .rest_bias = data(saved[6])},
        data(dparts), data(drests),
        {.link = {.sources = data(sources), .destinations = data(wholes), .weight = data(weight)},
         .parts = data(parts),
         .rest_bias = data(rest_bias)});
    return {sources,  Tensor(), wholes, Tensor(), parts, weight, sum_of({dparts, drests}),
            rest_bias};
  }
};

struct Standardise : Function<Standardise> {
  static Tensor forward(AutogradContext* context, const Tensor& x, double mean, double std) {
    context->save_for_backward({x});
    context->saved_data["mean"] = mean;
    context->saved_data["std"] = std;
    Tensor y = like(x);
    kernels::standardise(data(x), x.numel(), of(mean, std), data(y));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const Tensor x = context->get_saved_variables()[0];
    const Tensor gradient = incoming[0].contiguous();
    Tensor dx = like(x);
    kernels::standardise_backward(
        data(x), x.numel(),
        of(context->saved_data["mean"].toDouble(), context->saved_data["std"].toDouble()),
        data(gradient), data(dx));
    return {dx, Tensor(), Tensor()};
  }

 private:
  static kernels::Moments of(double mean, double std) {
    return {static_cast<float>(mean), static_cast<float>(std)};
  }
};

struct LayerNorm : Function<LayerNorm> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& gamma,
                        const Tensor& beta) {
    const std::vector<std::int64_t> rows = every(x);
    Tensor y = like(x);
    Tensor centre = torch::empty({x.size(0)}, torch::kFloat32);
    Tensor rate = like(centre);
    kernels::layer_norm(input(rows, x, gamma, beta), data(y), data(centre), data(rate));
    context->save_for_backward({x, gamma, beta, centre, rate});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    const std::vector<std::int64_t> rows = every(saved[0]);
    Tensor dx = like(saved[0]);
    Tensor gamma = like(saved[1]);
    Tensor beta = like(saved[2]);
    kernels::layer_norm_backward(input(rows, saved[0], saved[1], saved[2]), rows, data(saved[3]),
                                 data(saved[4]), data(gradient), data(dx), data(gamma), data(beta));
    return {dx, gamma, beta};
  }

 private:
  static std::vector<std::int64_t> every(const Tensor& x) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(x.size(0)));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  static kernels::NormInput input(const std::vector<std::int64_t>& rows, const Tensor& x,
                                  const Tensor& gamma, const Tensor& beta) {
    return {.relu = false,
            .width = x.size(1),
            .order = rows,
            .x = data(x),
            .gamma = data(gamma),
            .beta = data(beta)};
  }
};

struct Sines : Function<Sines> {
  static Tensor forward(AutogradContext* context, const Tensor& t, const Tensor& frequency,
                        const Tensor& phase) {
    Tensor out = torch::empty({t.numel(), phase.numel()}, torch::kFloat32);
    Tensor slope = like(out);
    kernels::sines(doubles(t), doubles(frequency), doubles(phase), data(out), data(slope));
    context->save_for_backward({t, slope});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    Tensor frequency = torch::empty({gradient.size(1)}, torch::kFloat64);
    Tensor phase = torch::empty({gradient.size(1)}, torch::kFloat64);
    kernels::sines_backward(doubles(saved[0]), data(saved[1]), data(gradient), doubles(frequency),
                            doubles(phase));
    return {Tensor(), frequency, phase};
  }

 private:
  static std::span<double> doubles(const Tensor& vector) {
    return {vector.data_ptr<double>(), static_cast<std::size_t>(vector.numel())};
  }
};

struct AddCorner : Function<AddCorner> {
  static Tensor forward(AutogradContext* context, const Tensor& matrix, const Tensor& part,
                        std::int64_t rows) {
    context->saved_data["rows"] = rows;
    context->saved_data["part_rows"] = part.size(0);
    context->saved_data["part_width"] = part.size(1);
    Tensor sum = matrix.clone();
    corner(sum, rows, part.size(1)).add_(part.narrow(0, 0, rows));
    return sum;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const std::int64_t rows = context->saved_data["rows"].toInt();
    const std::int64_t width = context->saved_data["part_width"].toInt();
    Tensor part = torch::zeros({context->saved_data["part_rows"].toInt(), width}, torch::kFloat32);
    part.narrow(0, 0, rows).copy_(corner(incoming[0], rows, width));
    return {incoming[0], part, Tensor()};
  }

 private:
  static Tensor corner(const Tensor& matrix, std::int64_t rows, std::int64_t width) {
    return matrix.narrow(0, 0, rows).narrow(1, 0, width);
  }
};

struct GruCell : Function<GruCell> {
  static Tensor forward(AutogradContext* context, const Tensor& in, const Tensor& hidden,
                        const Tensor& h) {
    Tensor gates = like(in);
    Tensor out = torch::empty({h.size(0), h.size(1)}, torch::kFloat32);
    kernels::gru(input(in, hidden, h), data(gates), data(out));
    context->save_for_backward({hidden, h, gates});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    Tensor in = like(saved[2]);
    Tensor hidden = like(saved[0]);
    kernels::gru_backward(input(Tensor(), saved[0], saved[1]), data(saved[2]), data(gradient),
                          data(in), data(hidden));
    return {in, hidden, Tensor()};
  }

 private:
  static kernels::GruInput input(const Tensor& in, const Tensor& hidden, const Tensor& h) {
    return {.rows = h.size(0),
            .width = h.size(1),
            .in = data(in),
            .hidden = data(hidden),
            .h = data(h),
            .h_stride = h.stride(0)};
  }
};

struct Gated : Function<Gated> {
  static variable_list forward(AutogradContext* context, const Tensor& of_context,
                               const Tensor& owner, const Tensor& own, const Tensor& h,
                               const Tensor& scale) {
    Tensor gate = like(h);
    Tensor out = like(h);
    kernels::gated(input(of_context, owner, own, h, scale), data(gate), data(out));
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
    kernels::gated_backward(input(Tensor(), owner, Tensor(), h, scale), data(saved[3]),
                            data(gradient), data(own), data(dh), data(dscale));
    const std::int64_t contexts = context->saved_data["contexts"].toInt();
    Tensor of_context = torch::empty({contexts, h.size(1)}, torch::kFloat32);
    kernels::sum_groups(data(own), kernels::RowGroups::of(indices(owner), contexts), h.size(1),
                        data(of_context));
    return {of_context, Tensor(), own, dh, dscale};
  }

 private:
  static kernels::GatedInput input(const Tensor& context, const Tensor& owner, const Tensor& own,
                                   const Tensor& h, const Tensor& scale) {
    return {.rows = h.size(0),
            .width = h.size(1),
            .owner = indices(owner),
            .context = data(context),
            .own = data(own),
            .h = data(h),
            .scale = data(scale)};
  }
};

}  // namespace

Tensor gather_rows(const Tensor& table, const Tensor& rows) {
  return GatherRows::apply(table, rows);
}

Tensor gather_scaled(const Tensor& table, const Tensor& rows, const Tensor& factor,
                     const Tensor& weight) {
  return GatherScaled::apply(table, rows, factor, weight);
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
  const kernels::Moments of = kernels::moments(data(flat), flat.numel());
  // Differences that are mere rounding must not be blown up, nor their gradients.
  if (!(of.std > 1e-6F * std::abs(of.mean)) && !std::isnan(of.std)) return torch::ones_like(x);
  return Standardise::apply(flat, of.mean, of.std);
}

Tensor sines(const Tensor& t, const Tensor& frequency, const Tensor& phase) {
  return Sines::apply(t.contiguous(), frequency, phase);
}

Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& shift, Path path) {
  if (!has_kernels(path, x)) return torch::layer_norm(x, {x.size(1)}, scale, shift);
  return LayerNorm::apply(x.contiguous(), scale, shift);
}

Tensor total(const Tensor& x, Path path) {
  return has_kernels(path, x) ? Total::apply(x.contiguous()) : x.sum();
}

Tensor mean(const Tensor& x, Path path) {
  return has_kernels(path, x) ? total(x, path) / x.numel() : x.mean();
}

Tensor sigmoid_of(const Tensor& x) {
  return by_parts(x, [](const Tensor& part) { return torch::sigmoid(part); });
}

Tensor softplus_of(const Tensor& x) {
  return by_parts(x, [](const Tensor& part) { return torch::softplus(part); });
}

Tensor squared_sum(const std::vector<Tensor>& tensors) {
  double sum = 0;
  for (const Tensor& x : tensors) {
    sum += x.scalar_type() == torch::kFloat32 && x.is_contiguous()
               ? kernels::sum_of_squares(data(x), x.numel())
               : x.detach().square().sum().item<double>();
  }
  return torch::full({}, sum, torch::kFloat32);
}

Tensor add_corner(const Tensor& matrix, const Tensor& part, std::int64_t rows) {
  return AddCorner::apply(matrix, part, rows);
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

}  // namespace curnm
