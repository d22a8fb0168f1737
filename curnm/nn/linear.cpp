#include "curnm/nn/linear.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "curnm/base/error.h"
#include "curnm/kernels/gemm.h"
#include "curnm/kernels/rows.h"
#include "curnm/nn/kernel_tensors.h"

namespace curnm {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// A factor of a product: the matrix in place if its rows or columns are contiguous, otherwise a
/// copy.
class Factor {
 public:
  explicit Factor(const Tensor& matrix)
      : matrix_(matrix), along_(has_contiguous_rows(matrix) ? 1 : 0) {
    CURNM_ASSERT(matrix.is_cpu());
    if (has_contiguous_lines(matrix, along_)) return;
    matrix_ = matrix.contiguous();
    along_ = 1;
  }

  kernels::MatrixView view() const {
    return {matrix_.data_ptr<float>(), line_stride(matrix_, along_), /*transposed=*/along_ == 0};
  }

 private:
  Tensor matrix_;
  std::int64_t along_;  // the dimension along which lines are contiguous: rows (1) or columns (0)
};

void multiply_from(const Tensor& a, const Tensor& b, const kernels::ProductStart& start,
                   const Tensor& out) {
  CURNM_ASSERT(a.size(1) == b.size(0) && out.size(0) == a.size(0) && out.size(1) == b.size(1));
  const Factor left(a);
  const Factor right(b);
  kernels::multiply(a.size(0), b.size(1), a.size(1), left.view(), right.view(), start,
                    row_data(out), row_stride(out));
}

/// A matrix of `num_rows` rows: `part` at the given ones, zeros elsewhere.
Tensor scatter_rows(const Tensor& part, const std::vector<std::int64_t>& rows,
                    std::int64_t num_rows) {
  if (part.size(0) == num_rows) return part;
  Tensor whole = at::zeros({num_rows, part.size(1)}, at::kFloat);
  kernels::add_rows(float_data(part), rows, part.size(1), float_data(whole));
  return whole;
}

struct LinearFunction : Function<LinearFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
    context->save_for_backward({x, weight});
    return affine(x, weight, bias);
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const variable_list saved = context->get_saved_variables();
    const Tensor all_gradients = incoming[0].contiguous();
    const std::int64_t num_rows = all_gradients.size(0);
    // Unselected candidates have no gradient, nor do states that only they refer to.
    const std::vector<std::int64_t> rows =
        kernels::rows_with_values(float_data(all_gradients), num_rows, all_gradients.size(1));
    const Tensor gradient = subset_of_rows(all_gradients, rows);
    const auto wanted = [&](std::size_t input) { return context->needs_input_grad(input); };
    return {wanted(0) ? scatter_rows(matrix_product(gradient, saved[1]), rows, num_rows) : Tensor(),
            wanted(1) ? matrix_product(gradient.t(), subset_of_rows(saved[0], rows)) : Tensor(),
            wanted(2) ? sum_of_rows(gradient) : Tensor()};
  }
};

}  // namespace

void multiply_into(const Tensor& a, const Tensor& b, const Tensor& out, bool add) {
  multiply_from(a, b, {.keep = add}, out);
}

Tensor matrix_product(const Tensor& a, const Tensor& b) {
  Tensor out = at::empty({a.size(0), b.size(1)}, at::kFloat);
  multiply_into(a, b, out);
  return out;
}

void affine_into(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& out) {
  const Tensor row = contiguous_or_empty(bias);
  multiply_from(with_contiguous_rows(x), weight.t(), {.row = float_data(row)}, out);
}

Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor out = at::empty({x.size(0), weight.size(0)}, at::kFloat);
  affine_into(x, weight, bias, out);
  return out;
}

Tensor sum_of_rows(const Tensor& matrix) {
  const Tensor rows = with_contiguous_rows(matrix);
  Tensor sum = at::empty({rows.size(1)}, at::kFloat);
  kernels::sum_rows(row_data(rows), rows.size(0), rows.size(1), row_stride(rows), float_data(sum));
  return sum;
}

Tensor subset_of_rows(const Tensor& matrix, const std::vector<std::int64_t>& rows) {
  if (std::ssize(rows) == matrix.size(0) && std::is_sorted(rows.begin(), rows.end())) return matrix;
  const Tensor all = with_contiguous_rows(matrix);
  Tensor subset = at::empty({std::ssize(rows), all.size(1)}, at::kFloat);
  kernels::gather(row_data(all), row_stride(all), rows, all.size(1), float_data(subset),
                  all.size(1));
  return subset;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Path path) {
  if (!has_kernels(path, x)) return at::linear(x, weight, bias);
  return LinearFunction::apply(with_contiguous_rows(x), with_contiguous_rows(weight),
                               contiguous_or_empty(bias));
}

Tensor linear(const Tensor& x, const Linear& map, Path path) {
  return linear(x, map.weight, map.bias, path);
}

}  // namespace curnm
