#include "curnm/nn/fused.h"

#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "curnm/base/error.h"
#include "curnm/kernels/elementwise.h"
#include "curnm/kernels/link.h"
#include "curnm/kernels/norm.h"
#include "curnm/kernels/rows.h"
#include "curnm/nn/kernel_tensors.h"

namespace curnm {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

std::span<const std::int64_t> indices(const Tensor& rows) {
  CURNM_ASSERT(rows.is_contiguous());
  return {rows.data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.numel())};
}

/// The sum of all values of contiguous tensors, [1].
Tensor sum_of(std::initializer_list<Tensor> tensors) {
  double sum = 0;
  for (const Tensor& x : tensors) sum += kernels::sum_of_values(float_data(x), x.numel());
  return at::full({1}, sum, at::kFloat);
}

/// f of every value, in parts small enough for LibTorch to use one thread.
template <class F>
Tensor by_parts(const Tensor& x, const F& f) {
  constexpr std::int64_t kPart = 32768;
  if (x.numel() <= kPart) return f(x);
  std::vector<Tensor> parts;
  for (const Tensor& part : x.reshape(-1).split(kPart)) parts.push_back(f(part));
  return at::cat(parts).view(x.sizes());
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
    Tensor out = at::empty({rows.numel(), table.size(1)}, at::kFloat);
    kernels::gather(float_data(table), indices(rows), table.size(1), float_data(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const Tensor rows = context->get_saved_variables()[0];
    const Tensor gradient = incoming[0].contiguous();
    const std::int64_t targets = context->saved_data["targets"].toInt();
    Tensor sum = at::empty({targets, gradient.size(1)}, at::kFloat);
    kernels::sum_groups(float_data(gradient), kernels::RowGroups::of(indices(rows), targets),
                        gradient.size(1), float_data(sum));
    return {sum, Tensor()};
  }
};

struct GatherScaled : Function<GatherScaled> {
  static Tensor forward(AutogradContext* context, const Tensor& table, const Tensor& rows,
                        const Tensor& factor, const Tensor& weight) {
    context->save_for_backward({table, rows, factor, weight});
    Tensor out = at::empty({rows.numel(), table.size(1)}, at::kFloat);
    kernels::gather_scaled(input(table, rows, factor, weight), float_data(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    Tensor table = empty_floats_like(saved[0]);
    Tensor weight = empty_floats_like(saved[3]);
    kernels::gather_scaled_backward(input(saved[0], saved[1], saved[2], saved[3]), saved[0].size(0),
                                    float_data(gradient), float_data(table), float_data(weight));
    return {table, Tensor(), Tensor(), weight};
  }

 private:
  static kernels::ScaledInput input(const Tensor& table, const Tensor& rows, const Tensor& factor,
                                    const Tensor& weight) {
    return {.width = table.size(1),
            .rows = indices(rows),
            .table = float_data(table),
            .factor = float_data(factor),
            .weight = float_data(weight)};
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
          .sources = float_data(sources),
          .destinations = float_data(destinations),
          .weight = float_data(weight)};
}

struct LinkLogits : Function<LinkLogits> {
  static Tensor forward(AutogradContext* context, const Tensor& sources, const Tensor& source_of,
                        const Tensor& destinations, const Tensor& destination_of,
                        const Tensor& weight, const Tensor& bias) {
    context->save_for_backward({sources, source_of, destinations, destination_of, weight});
    Tensor logits = at::empty({source_of.numel()}, at::kFloat);
    kernels::link_logits(link_input(sources, source_of, destinations, destination_of, weight),
                         bias.item<float>(), float_data(logits));
    return logits;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    const auto wanted = [&](std::size_t input, const Tensor& shape) {
      return context->needs_input_grad(input) ? empty_floats_like(shape) : Tensor();
    };
    const Tensor sources = wanted(0, saved[0]);
    const Tensor destinations = wanted(2, saved[2]);
    const Tensor weight = wanted(4, saved[4]);
    kernels::link_logits_backward(link_input(saved[0], saved[1], saved[2], saved[3], saved[4]),
                                  float_data(gradient),
                                  {.sources = float_data(sources),
                                   .destinations = float_data(destinations),
                                   .weight = float_data(weight)});
    return {sources, Tensor(), destinations, Tensor(), weight, sum_of({gradient})};
  }
};

struct SplitLink : Function<SplitLink> {
  static variable_list forward(AutogradContext* context, const Tensor& sources,
                               const Tensor& source_of, const Tensor& wholes,
                               const Tensor& whole_of, const Tensor& parts, const Tensor& weight,
                               const Tensor& bias, const Tensor& rest_bias) {
    context->save_for_backward({sources, source_of, wholes, whole_of, parts, weight, rest_bias});
    Tensor of_parts = at::empty({source_of.numel()}, at::kFloat);
    Tensor of_rests = at::empty({source_of.numel()}, at::kFloat);
    kernels::split_logits({.link = link_input(sources, source_of, wholes, whole_of, weight),
                           .parts = float_data(parts),
                           .rest_bias = float_data(rest_bias)},
                          bias.item<float>(), float_data(of_parts), float_data(of_rests));
    return {of_parts, of_rests};
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor dparts = incoming[0].contiguous();
    const Tensor drests = incoming[1].contiguous();
    const Tensor sources = empty_floats_like(saved[0]);
    const Tensor wholes = empty_floats_like(saved[2]);
    const Tensor parts = empty_floats_like(saved[4]);
    const Tensor weight = empty_floats_like(saved[5]);
    const Tensor rest_bias = empty_floats_like(saved[6]);
    kernels::split_logits_backward(
        {.link = link_input(saved[0], saved[1], saved[2], saved[3], saved[5]),
         .parts = float_data(saved[4]),
         .rest_bias = float_data(saved[6])},
        float_data(dparts), float_data(drests),
        {.link = {.sources = float_data(sources),
                  .destinations = float_data(wholes),
                  .weight = float_data(weight)},
         .parts = float_data(parts),
         .rest_bias = float_data(rest_bias)});
    return {sources,  Tensor(), wholes, Tensor(), parts, weight, sum_of({dparts, drests}),
            rest_bias};
  }
};

/// The moments of the values that standardise together, and how many they are.
struct Standard {
  kernels::Moments moments;
  double count = 0;
};
Standard standard_of(const Tensor& x, const BatchParts& parts) {
  const float* values = float_data(x);
  std::array<double, 2> sums = {kernels::sum_of_values(values, x.numel()),
                                static_cast<double>(x.numel())};
  parts.sum(sums);
  Standard standard{.count = sums[1]};
  standard.moments.mean = static_cast<float>(sums[0] / standard.count);
  std::array<double, 1> squares = {
      kernels::sum_of_squares(values, x.numel(), standard.moments.mean)};
  parts.sum(squares);
  standard.moments.std = static_cast<float>(std::sqrt(squares[0] / standard.count));
  return standard;
}

struct Standardise : Function<Standardise> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Standard& standard,
                        const BatchParts* parts) {
    context->save_for_backward({x});
    context->saved_data["mean"] = static_cast<double>(standard.moments.mean);
    context->saved_data["std"] = static_cast<double>(standard.moments.std);
    context->saved_data["count"] = standard.count;
    context->saved_data["parts"] = reinterpret_cast<std::int64_t>(parts);  // has no pointers
    Tensor y = empty_floats_like(x);
    kernels::standardise(float_data(x), x.numel(), standard.moments, float_data(y));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const Tensor x = context->get_saved_variables()[0];
    const Tensor gradient = incoming[0].contiguous();
    const kernels::Moments of{static_cast<float>(context->saved_data["mean"].toDouble()),
                              static_cast<float>(context->saved_data["std"].toDouble())};
    const double count = context->saved_data["count"].toDouble();
    std::array<double, 2> sums = {
        kernels::sum_of_values(float_data(gradient), x.numel()),
        kernels::sum_of_products(float_data(x), float_data(gradient), x.numel(), of.mean)};
    reinterpret_cast<const BatchParts*>(context->saved_data["parts"].toInt())->sum(sums);
    Tensor dx = empty_floats_like(x);
    kernels::standardise_backward(float_data(x), x.numel(), of, float_data(gradient),
                                  sums[0] / count, sums[1] / count, float_data(dx));
    return {dx, Tensor(), Tensor()};
  }
};

struct LayerNormFunction : Function<LayerNormFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& gamma,
                        const Tensor& beta) {
    const std::vector<std::int64_t> rows = all_rows(x);
    Tensor y = empty_floats_like(x);
    Tensor mean = at::empty({x.size(0)}, at::kFloat);
    Tensor inverse_std = empty_floats_like(mean);
    kernels::layer_norm(input(rows, x, gamma, beta), float_data(y), float_data(mean),
                        float_data(inverse_std));
    context->save_for_backward({x, gamma, beta, mean, inverse_std});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    const std::vector<std::int64_t> rows = all_rows(saved[0]);
    Tensor dx = empty_floats_like(saved[0]);
    Tensor gamma = empty_floats_like(saved[1]);
    Tensor beta = empty_floats_like(saved[2]);
    kernels::layer_norm_backward(input(rows, saved[0], saved[1], saved[2]), rows,
                                 float_data(saved[3]), float_data(saved[4]), float_data(gradient),
                                 float_data(dx), float_data(gamma), float_data(beta));
    return {dx, gamma, beta};
  }

 private:
  static std::vector<std::int64_t> all_rows(const Tensor& x) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(x.size(0)));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  static kernels::NormInput input(const std::vector<std::int64_t>& rows, const Tensor& x,
                                  const Tensor& gamma, const Tensor& beta) {
    return {.relu = false,
            .width = x.size(1),
            .order = rows,
            .x = float_data(x),
            .gamma = float_data(gamma),
            .beta = float_data(beta)};
  }
};

struct Sines : Function<Sines> {
  static Tensor forward(AutogradContext* context, const Tensor& t, const Tensor& frequency,
                        const Tensor& phase) {
    Tensor out = at::empty({t.numel(), phase.numel()}, at::kFloat);
    Tensor slope = empty_floats_like(out);
    kernels::sines(doubles(t), doubles(frequency), doubles(phase), float_data(out),
                   float_data(slope));
    context->save_for_backward({t, slope});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    Tensor frequency = at::empty({gradient.size(1)}, at::kDouble);
    Tensor phase = at::empty({gradient.size(1)}, at::kDouble);
    kernels::sines_backward(doubles(saved[0]), float_data(saved[1]), float_data(gradient),
                            doubles(frequency), doubles(phase));
    return {Tensor(), frequency, phase};
  }

 private:
  static std::span<double> doubles(const Tensor& vector) {
    CURNM_ASSERT(vector.is_contiguous());
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
    Tensor part = at::zeros({context->saved_data["part_rows"].toInt(), width}, at::kFloat);
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
    Tensor gates = empty_floats_like(in);
    Tensor out = at::empty({h.size(0), h.size(1)}, at::kFloat);
    kernels::gru(input(in, hidden, h), float_data(gates), float_data(out));
    context->save_for_backward({hidden, h, gates});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    Tensor in = empty_floats_like(saved[2]);
    Tensor hidden = empty_floats_like(saved[0]);
    kernels::gru_backward(input(Tensor(), saved[0], saved[1]), float_data(saved[2]),
                          float_data(gradient), float_data(in), float_data(hidden));
    return {in, hidden, Tensor()};
  }

 private:
  static kernels::GruInput input(const Tensor& in, const Tensor& hidden, const Tensor& h) {
    return {.rows = h.size(0),
            .width = h.size(1),
            .in = float_data(in),
            .hidden = float_data(hidden),
            .h = row_data(h),
            .h_stride = row_stride(h)};
  }
};

struct Gated : Function<Gated> {
  static variable_list forward(AutogradContext* context, const Tensor& of_context,
                               const Tensor& owner, const Tensor& own, const Tensor& h,
                               const Tensor& scale) {
    Tensor gate = empty_floats_like(h);
    Tensor out = empty_floats_like(h);
    kernels::gated(input(of_context, owner, own, h, scale), float_data(gate), float_data(out));
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
    Tensor own = empty_floats_like(h);
    Tensor dh = context->needs_input_grad(3) ? empty_floats_like(h) : Tensor();
    Tensor dscale =
        is_present(scale) && context->needs_input_grad(4) ? empty_floats_like(h) : Tensor();
    kernels::gated_backward(input(Tensor(), owner, Tensor(), h, scale), float_data(saved[3]),
                            float_data(gradient), float_data(own), float_data(dh),
                            float_data(dscale));
    const std::int64_t contexts = context->saved_data["contexts"].toInt();
    Tensor of_context = at::empty({contexts, h.size(1)}, at::kFloat);
    kernels::sum_groups(float_data(own), kernels::RowGroups::of(indices(owner), contexts),
                        h.size(1), float_data(of_context));
    return {of_context, Tensor(), own, dh, dscale};
  }

 private:
  static kernels::GatedInput input(const Tensor& context, const Tensor& owner, const Tensor& own,
                                   const Tensor& h, const Tensor& scale) {
    return {.rows = h.size(0),
            .width = h.size(1),
            .owner = indices(owner),
            .context = float_data(context),
            .own = float_data(own),
            .h = float_data(h),
            .scale = float_data(scale)};
  }
};

}  // namespace

Tensor gather_rows(const Tensor& table, const Tensor& rows) {
  return apply_contiguous<GatherRows>(table, rows);
}

Tensor gather_scaled(const Tensor& table, const Tensor& rows, const Tensor& factor,
                     const Tensor& weight) {
  return apply_contiguous<GatherScaled>(table, rows, factor, weight);
}

Tensor select_rows(const Tensor& table, const Tensor& rows, Path path) {
  return has_kernels(path, table) ? gather_rows(table, rows) : table.index_select(0, rows);
}

Tensor link_logits(const Tensor& sources, const Tensor& source_of, const Tensor& destinations,
                   const Tensor& destination_of, const Tensor& weight, const Tensor& bias) {
  return apply_contiguous<LinkLogits>(sources, source_of, destinations, destination_of, weight,
                                      bias);
}

PartLogits split_logits(const Tensor& sources, const Tensor& source_of, const Tensor& wholes,
                        const Tensor& whole_of, const Tensor& parts, const Tensor& weight,
                        const Tensor& bias, const Tensor& rest_bias) {
  const variable_list result = apply_contiguous<SplitLink>(sources, source_of, wholes, whole_of,
                                                           parts, weight, bias, rest_bias);
  return {result[0], result[1]};
}

Tensor standardise(const Tensor& x, const BatchParts& parts) {
  const Tensor flat = x.contiguous();
  const Standard standard = standard_of(flat, parts);
  const float mean = standard.moments.mean;
  const float deviation = standard.moments.std;
  // Differences that are only rounding errors must not be amplified, nor their gradients.
  if (!(deviation > 1e-6F * std::abs(mean)) && !std::isnan(deviation)) return at::ones_like(x);
  return apply_contiguous<Standardise>(flat, standard, &parts);
}

Tensor sines(const Tensor& t, const Tensor& frequency, const Tensor& phase) {
  return apply_contiguous<Sines>(t, frequency, phase);
}

Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& shift, Path path) {
  if (!has_kernels(path, x)) return at::layer_norm(x, {x.size(1)}, scale, shift);
  return apply_contiguous<LayerNormFunction>(x, scale, shift);
}

Tensor total(const Tensor& x, Path path) {
  return has_kernels(path, x) ? apply_contiguous<Total>(x) : x.sum();
}

Tensor mean(const Tensor& x, Path path) {
  return has_kernels(path, x) ? total(x, path) / x.numel() : x.mean();
}

Tensor share_of_mean(const Tensor& x, double count, Path path) {
  if (static_cast<double>(x.numel()) == count) return mean(x, path);
  return (x.numel() > 0 ? total(x, path) : x.sum()) / count;
}

Tensor sigmoid_of(const Tensor& x) {
  return by_parts(x, [](const Tensor& part) { return at::sigmoid(part); });
}

Tensor softplus_of(const Tensor& x) {
  return by_parts(x, [](const Tensor& part) { return at::softplus(part); });
}

Tensor add_corner(const Tensor& matrix, const Tensor& part, std::int64_t rows) {
  return AddCorner::apply(matrix, part, rows);
}

Tensor gru_cell(const Tensor& in, const Tensor& hidden, const Tensor& h) {
  // The state is part of the mail, and is read there.
  return GruCell::apply(contiguous_or_empty(in), contiguous_or_empty(hidden),
                        with_contiguous_rows(h));
}

Tensor gated(const Tensor& context, const Tensor& owner, const Tensor& own, const Tensor& h,
             const Tensor& scale, Tensor* gate) {
  const variable_list result = apply_contiguous<Gated>(context, owner, own, h, scale);
  if (gate != nullptr) *gate = result[1];
  return result[0];
}

}  // namespace curnm
