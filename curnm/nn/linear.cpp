#include "curnm/nn/linear.h"

#include <algorithm>

#include "curnm/base/error.h"
#include "curnm/nn/floats.h"
#include "curnm/nn/kernels/gemm.h"
#include "curnm/nn/kernels/rows.h"

namespace curnm {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

bool has_rows(const Tensor& matrix) { return matrix.stride(1) == 1 || matrix.size(1) == 1; }

kernels::MatrixView view(const Tensor& matrix) {
  const float* data = matrix.data_ptr<float>();
  // A dimension of length 1 may have any stride; what the library is told must not be too short.
  if (has_rows(matrix)) return {data, std::max(matrix.stride(0), matrix.size(1)), false};
  CURNM_ASSERT(matrix.stride(0) == 1 || matrix.size(0) == 1);
  return {data, std::max(matrix.stride(1), matrix.size(0)), true};
}

void multiply_from(const Tensor& a, const Tensor& b, const kernels::ProductStart& start,
                   const Tensor& out) {
  CURNM_ASSERT(a.size(1) == b.size(0) && out.size(0) == a.size(0) && out.size(1) == b.size(1));
  CURNM_ASSERT(has_rows(out));
  kernels::multiply(a.size(0), b.size(1), a.size(1), view(a), view(b), start, out.data_ptr<float>(),
                    std::max(out.stride(0), out.size(1)));
}

/// A matrix that has these rows, and zeros in the others of `all`.
Tensor spread(const Tensor& part, const std::vector<std::int64_t>& rows, std::int64_t all) {
  if (part.size(0) == all) return part;
  Tensor whole = torch::zeros({all, part.size(1)}, torch::kFloat32);
  kernels::add_rows(data(part), rows, part.size(1), data(whole));
  return whole;
}

struct Linear : Function<Linear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
    context->save_for_backward({x, weight});
    return affine(x, weight, bias);
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor incoming_rows = incoming[0].contiguous();
    const std::int64_t all = incoming_rows.size(0);
    // Candidates that were not selected have no gradient, nor have states that only they met.
    const std::vector<std::int64_t> rows =
        kernels::rows_with_values(data(incoming_rows), all, incoming_rows.size(1));
    const Tensor gradient = rows_of(incoming_rows, rows);
    const auto wanted = [&](std::size_t input) { return context->needs_input_grad(input); };
    return {wanted(0) ? spread(product(gradient, saved[1]), rows, all) : Tensor(),
            wanted(1) ? product(gradient.t(), rows_of(saved[0], rows)) : Tensor(),
            wanted(2) ? sum_of_rows(gradient) : Tensor()};
  }
};

}  // namespace

void multiply(const Tensor& a, const Tensor& b, const Tensor& out, bool add) {
  multiply_from(a, b, {.keep = add}, out);
}

Tensor product(const Tensor& a, const Tensor& b) {
  Tensor out = torch::empty({a.size(0), b.size(1)}, torch::kFloat32);
  multiply(a, b, out);
  return out;
}

void affine_into(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& out) {
  multiply_from(x, weight.t(), {.row = data(bias)}, out);
}

Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor out = torch::empty({x.size(0), weight.size(0)}, torch::kFloat32);
  affine_into(x, weight, bias, out);
  return out;
}

Tensor sum_of_rows(const Tensor& matrix) {
  CURNM_ASSERT(has_rows(matrix));
  Tensor sum = torch::empty({matrix.size(1)}, torch::kFloat32);
  kernels::sum_rows(matrix.data_ptr<float>(), matrix.size(0), matrix.size(1), matrix.stride(0),
                    sum.data_ptr<float>());
  return sum;
}

Tensor rows_of(const Tensor& matrix, const std::vector<std::int64_t>& rows) {
  CURNM_ASSERT(has_rows(matrix));
  if (std::ssize(rows) == matrix.size(0) && std::is_sorted(rows.begin(), rows.end())) return matrix;
  Tensor part = torch::empty({std::ssize(rows), matrix.size(1)}, torch::kFloat32);
  kernels::gather(data(matrix), matrix.stride(0), rows, matrix.size(1), data(part), matrix.size(1));
  return part;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Path path) {
  if (!has_kernels(path, x)) return torch::linear(x, weight, bias);
  return Linear::apply(x, weight, or_empty(bias));
}

Tensor linear(const Tensor& x, const torch::nn::Linear& map, Path path) {
  return linear(x, map->weight, map->bias, path);
}

}  // namespace curnm
