#include "curnm/nn/fused.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "curnm/nn/fused_attention.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/temporal_attention.h"
#include "curnm/nn/tensors.h"
#include "support/scoped_threads.h"

// The fast path against the plain one: values and every gradient.

namespace curnm {
namespace {

Tensor numbers(std::uint64_t seed, at::IntArrayRef shape) {
  Tensor values = at::empty(shape);
  keyed_uniform_(values, 1, Rng(seed, Stream::kTest));
  return values;
}

Tensor rows(std::initializer_list<std::int64_t> values) {
  return to_tensor(std::vector<std::int64_t>(values), at::kCPU);
}

/// Equal up to 1e-5 of the largest entry, or of 1 where all are smaller: some gradients are 0 but
/// for rounding (that of the keys' bias, which shifts all scores alike).
::testing::AssertionResult close(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return ::testing::AssertionFailure() << "one is undefined";
  if (!a.defined()) return ::testing::AssertionSuccess();
  if (a.sizes() != b.sizes()) return ::testing::AssertionFailure() << "shapes differ";
  if (a.numel() == 0) return ::testing::AssertionSuccess();
  const double scale = std::max(b.abs().max().item<double>(), 1.0);
  const double difference = (a - b).abs().max().item<double>() / scale;
  if (difference <= 1e-5) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "relative difference " << difference;
}

using Inputs = std::vector<Tensor>;

/// Ways to lay out the same values in memory.
enum class Layout { kContiguous, kTransposed, kEverySecond, kPartOfWider };
constexpr std::array kLayouts = {Layout::kContiguous, Layout::kTransposed, Layout::kEverySecond,
                                 Layout::kPartOfWider};

/// The same values in another layout, by operations that gradients flow through.
Tensor laid_out(const Tensor& x, Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return x;
    case Layout::kTransposed:
      return x.dim() < 2 ? x : x.transpose(-1, -2).contiguous().transpose(-1, -2);
    case Layout::kEverySecond:
      return at::stack({x, at::zeros_like(x)}, -1).select(-1, 0);
    case Layout::kPartOfWider:
      return at::cat({at::zeros_like(x), x, x}, -1).narrow(-1, x.size(-1), x.size(-1));
  }
  return {};
}
Inputs laid_out(Inputs inputs, Layout layout) {
  for (Tensor& input : inputs) input = laid_out(input, layout);
  return inputs;
}

struct Outcome {
  Tensor result;
  Inputs gradients;  // of the leaves
};

/// What a function gives for leaves and constants, which it gets as one list, in some layout.
template <class Function>
Outcome outcome_of(const Function& function, const Inputs& leaves, const Inputs& constants,
                   Layout layout) {
  Inputs fresh;
  for (const Tensor& leaf : leaves) fresh.push_back(leaf.detach().clone());
  for (Tensor& leaf : fresh) leaf.requires_grad_(true);
  Inputs inputs = fresh;
  inputs.insert(inputs.end(), constants.begin(), constants.end());
  const Tensor result = function(laid_out(inputs, layout));
  // Gradients arrive in another layout as well.
  const Tensor used = layout == Layout::kTransposed ? laid_out(result, layout) : result;
  (used * numbers(99, used.sizes())).sum().backward();
  Outcome outcome{.result = result.detach(), .gradients = {}};
  for (const Tensor& leaf : fresh) outcome.gradients.push_back(leaf.grad());
  return outcome;
}

/// Compares the results and the gradients of all leaves, for every layout of leaves and constants.
template <class Fast, class Plain>
void expect_same(const Inputs& leaves, const Inputs& constants, const Fast& fast,
                 const Plain& plain) {
  const Outcome expected = outcome_of(plain, leaves, constants, Layout::kContiguous);
  for (const Layout layout : kLayouts) {
    SCOPED_TRACE(::testing::Message() << "layout " << static_cast<int>(layout));
    const Outcome outcome = outcome_of(fast, leaves, constants, layout);
    EXPECT_TRUE(close(outcome.result, expected.result));
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_TRUE(close(outcome.gradients[i], expected.gradients[i])) << "gradient " << i;
    }
  }
}

TEST(FusedTest, GatherRows) {
  expect_same(
      {numbers(1, {5, 7})}, {rows({3, 0, 3, 3, 1})},
      [](const Inputs& x) { return gather_rows(x[0], x[1]); },
      [](const Inputs& x) { return x[0].index_select(0, x[1]); });
  expect_same(
      {numbers(1, {5, 7})}, {rows({4, 0})},
      [](const Inputs& x) { return select_rows(x[0], x[1], Path::kFast); },
      [](const Inputs& x) { return select_rows(x[0], x[1], Path::kPlain); });
}

TEST(FusedTest, GatherScaled) {
  expect_same(
      {numbers(1, {5, 7}), numbers(2, {7, 1})}, {rows({3, 0, 3, 3, 1}), numbers(4, {5})},
      [](const Inputs& x) { return gather_scaled(x[0], x[2], x[3], x[1]); },
      [](const Inputs& x) {
        return x[0].index_select(0, x[2]) * (1 + x[3].unsqueeze(1).mm(x[1].t()));
      });
}

TEST(FusedTest, LayerNorm) {
  for (const std::int64_t n : {1, 3, 300}) {
    expect_same(
        {numbers(1, {n, 37}), numbers(2, {37}), numbers(3, {37})}, {},
        [&](const Inputs& x) { return layer_norm(x[0], x[1], x[2], Path::kFast); },
        [&](const Inputs& x) { return layer_norm(x[0], x[1], x[2], Path::kPlain); });
  }
}

TEST(FusedTest, Linear) {
  for (const std::int64_t n : {0, 1, 3, 300, 700}) {  // 300 rows are split, 700 also in blocks
    for (const std::int64_t out : {1, 5, 33}) {
      expect_same(
          {numbers(1, {n, 9}), numbers(2, {out, 9}), numbers(3, {out})}, {},
          [&](const Inputs& x) { return linear(x[0], x[1], x[2], Path::kFast); },
          [&](const Inputs& x) { return at::linear(x[0], x[1], x[2]); });
    }
  }
  expect_same(
      {numbers(1, {4, 9}), numbers(2, {5, 9})}, {},
      [&](const Inputs& x) { return linear(x[0], x[1], Tensor(), Path::kFast); },
      [&](const Inputs& x) { return at::linear(x[0], x[1]); });
  // Columns of a wider matrix are taken where they are.
  expect_same(
      {numbers(1, {4, 9}), numbers(2, {5, 3})}, {},
      [&](const Inputs& x) { return linear(x[0].narrow(1, 2, 3), x[1], Tensor(), Path::kFast); },
      [&](const Inputs& x) { return at::linear(x[0].narrow(1, 2, 3), x[1]); });
}

// On the way back only rows with a gradient are multiplied.
TEST(FusedTest, LinearOfWhichSomeRowsAreUsed) {
  for (const std::vector<std::int64_t>& used :
       {std::vector<std::int64_t>{}, {4}, {0, 3, 2}, {0, 1, 2, 3, 4}}) {
    const Tensor rows = to_tensor(used, at::kCPU);
    expect_same(
        {numbers(1, {5, 9}), numbers(2, {6, 4}), numbers(3, {6})}, {},
        [&](const Inputs& x) {
          return linear(x[0].narrow(1, 3, 4), x[1], x[2], Path::kFast).index_select(0, rows);
        },
        [&](const Inputs& x) {
          return at::linear(x[0].narrow(1, 3, 4), x[1], x[2]).index_select(0, rows);
        });
  }
}

TEST(FusedTest, ProductsOfPartsAndTransposes) {
  const testing::ScopedThreads scope(3);
  const Tensor a = numbers(1, {210, 200});
  const Tensor b = numbers(2, {200, 190});
  const Tensor expected = a.mm(b);
  EXPECT_TRUE(close(matrix_product(a, b), expected));
  EXPECT_TRUE(close(matrix_product(a.t().contiguous().t(), b), expected));
  EXPECT_TRUE(close(matrix_product(a, b.t().contiguous().t()), expected));
  EXPECT_TRUE(close(matrix_product(b.t(), a.t()), expected.t()));  // more columns than rows
  const Tensor wide = numbers(3, {210, 400});
  const Tensor before = wide.clone();
  multiply_into(a, b, wide.narrow(1, 7, 190), /*add=*/true);
  EXPECT_TRUE(close(wide.narrow(1, 7, 190), before.narrow(1, 7, 190) + expected));
  EXPECT_TRUE(at::equal(wide.narrow(1, 0, 7), before.narrow(1, 0, 7)));
  EXPECT_TRUE(at::equal(wide.narrow(1, 197, 203), before.narrow(1, 197, 203)));
  const Tensor none = numbers(4, {3, 0});
  EXPECT_TRUE(at::equal(matrix_product(none, none.t()), at::zeros({3, 3})));
  EXPECT_TRUE(at::equal(affine(none, at::empty({2, 0}), at::ones({2})), at::ones({3, 2})));
}

TEST(FusedTest, ProductsOfAnyLayout) {
  const Tensor a = numbers(1, {30, 20});
  const Tensor b = numbers(2, {20, 10});
  const Tensor bias = numbers(3, {10});
  const std::vector<std::int64_t> which = {7, 0, 29};
  for (const Layout of_a : kLayouts) {
    for (const Layout of_b : kLayouts) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(of_a) << static_cast<int>(of_b));
      const Tensor left = laid_out(a, of_a);
      const Tensor right = laid_out(b, of_b);
      EXPECT_TRUE(close(matrix_product(left, right), a.mm(b)));
      EXPECT_TRUE(close(affine(left, right.t(), laid_out(bias, of_b)), a.mm(b) + bias));
      EXPECT_TRUE(close(affine(left, right.t(), Tensor()), a.mm(b)));
      const Tensor out = laid_out(at::ones({30, 10}), Layout::kPartOfWider);
      multiply_into(left, right, out, /*add=*/true);
      EXPECT_TRUE(close(out, 1 + a.mm(b)));
      affine_into(left, right.t(), bias, out);
      EXPECT_TRUE(close(out, a.mm(b) + bias));
    }
    const Tensor matrix = laid_out(a, of_a);
    EXPECT_TRUE(close(sum_of_rows(matrix), a.sum(0)));
    EXPECT_TRUE(
        at::equal(subset_of_rows(matrix, which), a.index_select(0, to_tensor(which, at::kCPU))));
  }
  const Tensor expanded = numbers(4, {1, 20}).expand({30, 20});
  EXPECT_TRUE(close(matrix_product(expanded, b), expanded.mm(b)));
  EXPECT_TRUE(close(matrix_product(b.t(), expanded.t().narrow(1, 0, 7)),
                    b.t().mm(expanded.t().narrow(1, 0, 7))));
  EXPECT_TRUE(close(sum_of_rows(expanded), expanded.sum(0)));
}

TEST(FusedTest, ResultsOfOtherLayoutsAreRefused) {
  const Tensor a = numbers(1, {4, 5});
  const Tensor b = numbers(2, {5, 6});
  EXPECT_ANY_THROW(multiply_into(a, b, at::empty({6, 4}).t()));
  EXPECT_ANY_THROW(multiply_into(a, b, at::empty({1, 6}).expand({4, 6})));
  EXPECT_ANY_THROW(affine_into(a, b.t(), {}, at::empty({4, 6, 2}).select(2, 0)));
}

TEST(FusedTest, Sines) {
  const Tensor t = at::tensor({0.0, 0.25, -3.0, 1e4}, at::kDouble);
  const Tensor frequency = at::tensor({2.0, 1.0, 6.28, 1e3}, at::kDouble);
  expect_same(
      {frequency, at::tensor({0.5, 0.0, -1.0, 2.0}, at::kDouble)}, {t},
      [](const Inputs& x) { return sines(x[2], x[0], x[1]); },
      [](const Inputs& x) {
        const Tensor angle = x[2].unsqueeze(1) * x[0] + x[1];
        return at::cat({angle.narrow(1, 0, 1), angle.narrow(1, 1, 3).sin()}, 1).to(at::kFloat);
      });
}

TEST(FusedTest, SinesOfLongTimes) {
  std::vector<double> times = {0};
  for (double t = 1e-3; t < 1e6; t *= 1.37) times.push_back(t);
  const Tensor t = to_tensor(times, at::kCPU);
  const Tensor frequency = at::tensor({1.0, 1.0, 6.283, 0.1}, at::kDouble);
  const Tensor phase = at::zeros({4}, at::kDouble);
  const Tensor out = sines(t, frequency, phase);
  const Tensor exact = (t.unsqueeze(1) * frequency).sin();
  EXPECT_LT((out - exact).abs().narrow(1, 1, 3).max().item<double>(), 1e-6);
  EXPECT_TRUE(at::equal(out[0], at::zeros({4}))) << "nothing to blow up where t is 0";
}

// The first batch of a training: no one has a neighbour.
TEST(FusedTest, AttentionWithoutNeighbours) {
  const auto run = [&](Path path) {
    TemporalAttention layer({.width = 8, .heads = 2, .time_width = 6, .dropout = 0, .path = path});
    initialise(layer, Rng(4, Stream::kTest));
    const Neighborhood hood{.neighbors = 2,
                            .num_roots = 3,
                            .roots = {2, 0, 1, 2},
                            .counts = {0, 0, 0, 0},
                            .rows = std::vector<std::int64_t>(8, 0),
                            .dt = std::vector<double>(8, 0.0),
                            .keys = {1, 2, 3, 4}};
    Tensor states = numbers(5, {3, 8}).requires_grad_(true);
    const Tensor z = layer.forward(states, hood, Rng(6, Stream::kTest));
    (z * numbers(9, z.sizes())).sum().backward();
    return std::pair(z.detach(), states.grad());
  };
  const auto [fast, fast_gradient] = run(Path::kFast);
  const auto [plain, plain_gradient] = run(Path::kPlain);
  EXPECT_TRUE(close(fast, plain));
  EXPECT_TRUE(close(fast_gradient, plain_gradient));
}

TEST(FusedTest, TotalAndMean) {
  for (const std::int64_t n : {1, 7, 1000}) {
    expect_same(
        {numbers(1, {n, 3})}, {},
        [](const Inputs& x) { return total(x[0], Path::kFast) * mean(x[0].t(), Path::kFast); },
        [](const Inputs& x) { return x[0].sum() * x[0].mean(); });
  }
}

// LibTorch adds up so many values in as many parts as there are threads.
TEST(FusedTest, LongSumsDoNotDependOnThreads) {
  constexpr std::int64_t kMany = 100'000;
  const Tensor each = at::zeros({kMany}, at::kLong);
  const auto run = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    const Tensor bias = numbers(4, {1}).requires_grad_(true);
    const Tensor logits =
        link_logits(numbers(1, {1, 4}), each, numbers(2, {1, 4}), each, numbers(3, {1, 4}), bias);
    const Tensor loss = mean(at::softplus(logits * numbers(5, {kMany})), Path::kFast);
    loss.backward();
    return std::pair(loss.item<float>(), bias.grad().item<float>());
  };
  const auto expected = run(1);
  EXPECT_EQ(run(2), expected);
  EXPECT_EQ(run(3), expected);
}

// Where there are so many values, each thread's part ends with a few that have another formula.
TEST(FusedTest, FunctionsOfManyValuesDoNotDependOnThreads) {
  for (const std::int64_t many : {5, 32'768, 32'775, 51'600, 100'003}) {
    for (Tensor (*function)(const Tensor&) : {sigmoid_of, softplus_of}) {
      const auto run = [&](int threads) {
        const testing::ScopedThreads scope(threads);
        const Tensor x = (4 * numbers(1, {many, 1})).requires_grad_(true);
        const Tensor y = function(x);
        (y * numbers(2, {many, 1})).sum().backward();
        return std::pair(y.detach(), x.grad());
      };
      const auto [y, gradient] = run(1);
      EXPECT_EQ(y.sizes(), at::IntArrayRef({many, 1}));
      for (const int threads : {2, 3, 5}) {
        const auto [other_y, other_gradient] = run(threads);
        EXPECT_TRUE(at::equal(other_y, y)) << many << " values, " << threads << " threads";
        EXPECT_TRUE(at::equal(other_gradient, gradient)) << many << ", " << threads;
      }
    }
  }
  const Tensor x = numbers(1, {40'000});
  EXPECT_TRUE(at::allclose(sigmoid_of(x), at::sigmoid(x)));
  EXPECT_TRUE(at::allclose(softplus_of(x), at::softplus(x)));
}

TEST(FusedTest, LinkLogits) {
  for (const std::int64_t width : {1, 5, 16, 33}) {
    expect_same(
        {numbers(1, {3, width}), numbers(2, {4, width}), numbers(3, {1, width}), numbers(4, {1})},
        {rows({0, 0, 2, 1, 2, 2}), rows({3, 1, 1, 0, 3, 3})},
        [](const Inputs& x) { return link_logits(x[0], x[4], x[1], x[5], x[2], x[3]); },
        [](const Inputs& x) {
          const Tensor hidden = at::relu(x[0].index_select(0, x[4]) + x[1].index_select(0, x[5]));
          return at::linear(hidden, x[2], x[3]).squeeze(-1);
        });
  }
}

TEST(FusedTest, SplitLogits) {
  for (const std::int64_t width : {1, 5, 33}) {
    expect_same(
        {numbers(1, {3, width}), numbers(2, {4, width}), numbers(3, {6, width}),
         numbers(4, {1, width}), numbers(5, {1}), numbers(6, {width})},
        {rows({0, 0, 2, 1, 2, 2}), rows({3, 1, 1, 0, 3, 3})},
        [](const Inputs& x) {
          const PartLogits logits = split_logits(x[0], x[6], x[1], x[7], x[2], x[3], x[4], x[5]);
          return at::cat({logits.parts, logits.rests});
        },
        [](const Inputs& x) {
          const Tensor source = x[0].index_select(0, x[6]);
          const Tensor rest = x[1].index_select(0, x[7]) - x[2] + x[5];
          const Tensor hidden = at::relu(at::cat({source + x[2], source + rest}));
          return at::linear(hidden, x[3], x[4]).squeeze(-1);
        });
  }
}

TEST(FusedTest, Standardise) {
  for (const std::int64_t count : {2, 7, 1000}) {
    expect_same(
        {3 * numbers(1, {count, 3}) + 5}, {}, [&](const Inputs& x) { return standardise(x[0]); },
        [&](const Inputs& x) {
          const Tensor centred = x[0] - x[0].mean();
          return centred / centred.square().mean().sqrt() + 1;
        });
  }
  EXPECT_TRUE(at::equal(standardise(at::full({7, 3}, 0.1F)), at::ones({7, 3})));
  EXPECT_TRUE(at::equal(standardise(at::zeros({4, 1})), at::ones({4, 1})));
  EXPECT_TRUE(at::isnan(standardise(at::full({3, 1}, NAN))).all().item<bool>());
}

TEST(FusedTest, AddCorner) {
  for (const std::int64_t rows : {1, 3, 4}) {
    expect_same(
        {numbers(1, {4, 5}), numbers(2, {4, 2})}, {},
        [&](const Inputs& x) { return add_corner(x[0], x[1], rows); },
        [&](const Inputs& x) {
          const Tensor part = at::cat({x[1].narrow(0, 0, rows), at::zeros({4 - rows, 2})});
          return x[0] + at::cat({part, at::zeros({4, 3})}, 1);
        });
  }
}

TEST(FusedTest, GruCell) {
  for (const std::int64_t width : {1, 6, 19}) {
    expect_same(
        {5 * numbers(1, {4, 3 * width}), 5 * numbers(2, {4, width})}, {numbers(5, {4, width})},
        [](const Inputs& x) { return gru_cell(x[0], x[1], x[2]); },
        [](const Inputs& x) {
          const auto in = x[0].chunk(3, 1);
          const Tensor reset = at::sigmoid(in[0]);
          const Tensor update = at::sigmoid(in[1]);
          const Tensor fresh = at::tanh(in[2] + reset * x[1]);
          return (1 - update) * fresh + update * x[2];
        });
  }
}

TEST(FusedTest, Gated) {
  for (const bool scaled : {true, false}) {
    Inputs leaves = {numbers(1, {2, 9}), numbers(2, {5, 9}), numbers(3, {5, 9})};
    if (scaled) leaves.push_back(numbers(4, {5, 9}));
    expect_same(
        leaves, {rows({1, 0, 1, 1, 0})},
        [&](const Inputs& x) {
          Tensor gate;
          const Tensor out = gated(x[0], x.back(), x[1], x[2], scaled ? x[3] : Tensor(), &gate);
          EXPECT_TRUE(close(gate, at::sigmoid(x[0].index_select(0, x.back()) + x[1])));
          return out;
        },
        [&](const Inputs& x) {
          const Tensor relevant = x[2] * at::sigmoid(x[0].index_select(0, x.back()) + x[1]);
          return scaled ? relevant * x[3] : relevant;
        });
  }
}

TEST(FusedTest, SigmoidAndSoftplus) {
  for (const std::int64_t n : {3, 20'000}) {
    expect_same(
        {numbers(1, {n, 2})}, {},
        [](const Inputs& x) { return sigmoid_of(x[0]) + softplus_of(x[0]); },
        [](const Inputs& x) { return at::sigmoid(x[0]) + at::softplus(x[0]); });
  }
}

// A row that stands for many has a stride of 0.
TEST(FusedTest, ExpandedInputs) {
  const auto expect_expanded = [](const auto& fast, const auto& plain) {
    expect_same(
        {numbers(1, {1, 9}), numbers(2, {9, 9})}, {},
        [&](const Inputs& x) {
          return fast(x[0].expand({5, 9}), x[1]);
        },
        [&](const Inputs& x) {
          return plain(x[0].expand({5, 9}), x[1]);
        });
  };
  const auto at = rows({3, 1, 1});
  expect_expanded([](const Tensor& x, const Tensor& w) { return linear(x, w, w[0], Path::kFast); },
                  [](const Tensor& x, const Tensor& w) { return at::linear(x, w, w[0]); });
  expect_expanded([&](const Tensor& x, const Tensor&) { return gather_rows(x, at); },
                  [&](const Tensor& x, const Tensor&) { return x.index_select(0, at); });
  expect_expanded(
      [](const Tensor& x, const Tensor& w) {
        return gru_cell(at::cat({x, x, x}, 1), w.narrow(0, 0, 5), x.detach());
      },
      [](const Tensor& x, const Tensor& w) {
        const Tensor gate = at::sigmoid(x);
        const Tensor fresh = at::tanh(x + gate * w.narrow(0, 0, 5));
        return (1 - gate) * fresh + gate * x.detach();
      });
}

// What a sum sends back is one number, expanded.
TEST(FusedTest, ExpandedGradients) {
  const auto at = rows({3, 1, 1});
  const auto gradient = [](const auto& function) {
    Tensor x = numbers(1, {5, 9}).requires_grad_(true);
    function(x).sum().backward();
    return x.grad();
  };
  const Tensor w = numbers(2, {4, 9});
  EXPECT_TRUE(close(gradient([&](const auto& x) { return linear(x, w, {}, Path::kFast); }),
                    gradient([&](const auto& x) { return at::linear(x, w); })));
  EXPECT_TRUE(close(gradient([&](const auto& x) { return gather_rows(x, at); }),
                    gradient([&](const auto& x) { return x.index_select(0, at); })));
  EXPECT_TRUE(close(gradient([&](const auto& x) { return total(x, Path::kFast); }),
                    gradient([&](const auto& x) { return x.sum(); })));
}

struct AttentionCase {
  const char* name;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t neighbors;
  std::int64_t time_width;
  std::int64_t edge_width;
  double dropout;
};

class AttentionPaths : public ::testing::TestWithParam<AttentionCase> {
 protected:
  static constexpr std::int64_t kRoots = 50;
  static constexpr std::int64_t kDistinctRoots = 9;
  static constexpr std::int64_t kStates = 30;

  /// Some roots have no neighbours, some all of K.
  static Neighborhood hood() {
    const AttentionCase& c = GetParam();
    Neighborhood hood{.neighbors = c.neighbors, .num_roots = kDistinctRoots};
    Rng rng(8, Stream::kTest);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(n)));
    };
    for (std::int64_t r = 0; r < kRoots; ++r) {
      hood.roots.push_back(below(kDistinctRoots));
      hood.keys.push_back(static_cast<std::uint64_t>(r));
      hood.counts.push_back(static_cast<std::int32_t>(below(c.neighbors + 1)));
      for (std::int64_t j = 0; j < c.neighbors; ++j) {
        hood.rows.push_back(below(kStates));
        hood.dt.push_back(std::pow(10.0, 7 * rng.uniform()));
        hood.events.push_back(below(11));
      }
    }
    if (c.edge_width > 0) hood.edges = numbers(7, {11, c.edge_width});
    return hood;
  }

  static std::shared_ptr<TemporalAttention> layer(Path path) {
    const AttentionCase& c = GetParam();
    auto layer = std::make_shared<TemporalAttention>(AttentionOptions{.width = c.width,
                                                                      .heads = c.heads,
                                                                      .time_width = c.time_width,
                                                                      .edge_width = c.edge_width,
                                                                      .dropout = c.dropout,
                                                                      .path = path});
    initialise(*layer, Rng(4, Stream::kTest));
    layer->train();
    return layer;
  }

  struct LayerOutcome {
    Tensor z;
    std::map<std::string, Tensor> gradients;
  };
  /// `active`: only these rows have a gradient.
  static LayerOutcome run(Path path, std::int64_t active, Layout layout = Layout::kContiguous) {
    const auto module = layer(path);
    Tensor states = numbers(5, {kStates, GetParam().width}).requires_grad_(true);
    Neighborhood neighbors = hood();
    if (neighbors.edges.defined()) neighbors.edges = laid_out(neighbors.edges, layout);
    const Tensor z = module->forward(laid_out(states, layout), neighbors, Rng(6, Stream::kTest));
    (z * numbers(9, z.sizes())).narrow(0, 0, active).sum().backward();
    LayerOutcome outcome{.z = z.detach(), .gradients = {{"states", states.grad()}}};
    for (const auto& item : module->named_parameters()) {
      outcome.gradients[item.key()] = item.value().grad();
    }
    return outcome;
  }
};

TEST_P(AttentionPaths, GiveTheSameValuesAndGradients) {
  for (const std::int64_t active : {kRoots, std::int64_t{13}, std::int64_t{1}}) {
    const LayerOutcome fast = run(Path::kFast, active);
    const LayerOutcome plain = run(Path::kPlain, active);
    EXPECT_TRUE(close(fast.z, plain.z));
    for (const auto& [name, gradient] : plain.gradients) {
      EXPECT_TRUE(close(fast.gradients.at(name), gradient)) << name << ", active " << active;
    }
  }
}

TEST_P(AttentionPaths, FastTakesAnyLayout) {
  const LayerOutcome expected = run(Path::kFast, kRoots);
  for (const Layout layout : kLayouts) {
    const LayerOutcome outcome = run(Path::kFast, kRoots, layout);
    EXPECT_TRUE(at::equal(outcome.z, expected.z)) << static_cast<int>(layout);
    for (const auto& [name, gradient] : expected.gradients) {
      EXPECT_TRUE(close(outcome.gradients.at(name), gradient)) << name;
    }
  }
}

TEST_P(AttentionPaths, FastDoesNotDependOnThreads) {
  const auto with_threads = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    return run(Path::kFast, kRoots);
  };
  const LayerOutcome one = with_threads(1);
  const LayerOutcome three = with_threads(3);
  EXPECT_TRUE(at::equal(one.z, three.z));
  for (const auto& [name, gradient] : one.gradients) {
    const Tensor other = three.gradients.at(name);
    ASSERT_EQ(gradient.defined(), other.defined()) << name;
    EXPECT_TRUE(!gradient.defined() || at::equal(gradient, other)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionPaths,
                         ::testing::Values(AttentionCase{"usual", 12, 2, 5, 10, 0, 0.2},
                                           AttentionCase{"features", 12, 3, 4, 6, 5, 0.2},
                                           AttentionCase{"untimed", 8, 2, 3, 0, 0, 0.3},
                                           AttentionCase{"features_untimed", 8, 1, 3, 0, 3, 0},
                                           AttentionCase{"odd", 21, 3, 7, 13, 1, 0.1},
                                           AttentionCase{"one_neighbour", 10, 2, 1, 5, 0, 0},
                                           AttentionCase{"width_one", 1, 1, 2, 1, 1, 0}),
                         [](const auto& test) { return std::string(test.param.name); });

// Of the layer above only the states can have another layout; here everything has.
TEST(FusedTest, AttentionOfWeightsInAnyLayout) {
  constexpr std::int64_t kWidth = 12;
  constexpr std::int64_t kTimes = 5;
  constexpr std::int64_t kFeatures = 4;
  constexpr std::int64_t kStates = 9;
  AttentionPlan plan{.heads = 2,
                     .neighbors = 3,
                     .num_queries = 4,
                     .queries = {3, 0, 1, 1, 2, 3},
                     .counts = {2, 0, 3, 1, 0, 1},
                     .rows = {8, 1, 0, 0, 0, 0, 7, 6, 8, 2, 0, 0, 0, 0, 0, 5, 0, 0},
                     .features = {0, 1, 0, 0, 0, 0, 2, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0}};
  Inputs leaves = {numbers(1, {kStates, kWidth})};
  for (const std::int64_t columns :
       {kWidth, std::int64_t{0}, kTimes, kWidth, std::int64_t{0}, kTimes, kFeatures, kWidth,
        std::int64_t{0}, kTimes, kFeatures, 2 * kWidth, std::int64_t{0}, std::int64_t{0},
        std::int64_t{0}}) {
    leaves.push_back(columns == 0 ? numbers(leaves.size(), {kWidth})
                                  : numbers(leaves.size(), {kWidth, columns}));
  }
  const Inputs of_plan = {numbers(20, {18, kTimes}), numbers(21, {1, kTimes}),
                          numbers(22, {3, kFeatures}), numbers(23, {6, 3, 2}),
                          numbers(24, {6, kWidth})};
  const auto layer = [&](const Inputs& x) {
    AttentionWeights weights;
    std::size_t next = 1;
    for (const auto weight : kAttentionWeights) weights.*weight = x[next++];
    auto with_tensors = std::make_shared<AttentionPlan>(plan);
    for (Tensor* tensor : {&with_tensors->phi, &with_tensors->now, &with_tensors->edges,
                           &with_tensors->weight_mask, &with_tensors->output_mask}) {
      *tensor = x[next++];
    }
    return attention(x[0], weights, with_tensors);
  };
  expect_same(leaves, of_plan, layer, layer);
}

TEST(FusedTest, GruCellSaturatesWithoutTrouble) {
  const Tensor in = at::tensor({-200.0F, -20.0F, 0.0F, 20.0F, 200.0F}).view({5, 1});
  const Tensor zeros = at::zeros({5, 1});
  const Tensor z = gru_cell(at::cat({in, -in, in}, 1), at::zeros({5, 1}), zeros);
  EXPECT_TRUE(at::isfinite(z).all().item<bool>());
  EXPECT_TRUE(close(z, at::sigmoid(in) * at::tanh(in)));
}

}  // namespace
}  // namespace curnm
