#include "curnm/nn/linear.h"

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

struct Linear : Function<Linear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
    context->save_for_backward({x, weight});
    return affine(x, weight, bias);
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = incoming[0].contiguous();
    const auto wanted = [&](std::size_t input) { return context->needs_input_grad(input); };
    return {wanted(0) ? product(gradient, saved[1]) : Tensor(),
            wanted(1) ? product(gradient.t(), saved[0]) : Tensor(),
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

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Path path) {
  if (!has_kernels(path, x)) return torch::linear(x, weight, bias);
  return Linear::apply(x, weight, or_empty(bias));
}

Tensor linear(const Tensor& x, const torch::nn::Linear& map, Path path) {
  return linear(x, map->weight, map->bias, path);
}

}  // namespace curnm
