#include "curnm/nn/fused.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cmath>
#include <numeric>

#include "curnm/nn/kernels/elementwise.h"
#include "curnm/nn/kernels/rows.h"
#include "curnm/nn/linear.h"
#include "curnm/nn/temporal_attention.h"
#include "curnm/nn/tensors.h"
#include "support/scoped_threads.h"

// The fast path against the plain one: values and every gradient.

namespace curnm {
namespace {

torch::Tensor numbers(std::uint64_t seed, at::IntArrayRef shape) {
  torch::Tensor values = torch::empty(shape);
  keyed_uniform_(values, 1, Rng(seed, Stream::kTest));
  return values;
}

torch::Tensor rows(std::initializer_list<std::int64_t> values) {
  return to_tensor(std::vector<std::int64_t>(values), torch::kCPU);
}

/// Equal up to 1e-5 of the largest entry, or of 1 where all are smaller: some gradients are 0 but
/// for rounding (that of the keys' bias, which shifts all scores alike).
::testing::AssertionResult close(const torch::Tensor& a, const torch::Tensor& b) {
  if (a.defined() != b.defined()) return ::testing::AssertionFailure() << "one is undefined";
  if (!a.defined()) return ::testing::AssertionSuccess();
  if (a.sizes() != b.sizes()) return ::testing::AssertionFailure() << "shapes differ";
  if (a.numel() == 0) return ::testing::AssertionSuccess();
  const double scale = std::max(b.abs().max().item<double>(), 1.0);
  const double difference = (a - b).abs().max().item<double>() / scale;
  if (difference <= 1e-5) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "relative difference " << difference;
}

/// Runs both ways on the same leaves and compares the results and all gradients.
template <class Fast, class Plain>
void expect_same(std::vector<torch::Tensor> leaves, const Fast& fast, const Plain& plain) {
  std::vector<torch::Tensor> gradients;
  torch::Tensor result;
  const auto run = [&](const auto& function) {
    for (torch::Tensor& leaf : leaves) {
      leaf = leaf.detach().requires_grad_(true);
      leaf.mutable_grad() = torch::Tensor();
    }
    result = function(leaves);
    (result * numbers(99, result.sizes())).sum().backward();
    gradients.clear();
    for (const torch::Tensor& leaf : leaves) gradients.push_back(leaf.grad().clone());
    return result.detach().clone();
  };
  const torch::Tensor expected = run(plain);
  const std::vector<torch::Tensor> expected_gradients = gradients;
  EXPECT_TRUE(close(run(fast), expected));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_TRUE(close(gradients[i], expected_gradients[i])) << "gradient " << i;
  }
}

using Leaves = std::vector<torch::Tensor>;

TEST(FusedTest, GatherRows) {
  const torch::Tensor which = rows({3, 0, 3, 3, 1});
  expect_same(
      {numbers(1, {5, 7})}, [&](const Leaves& x) { return gather_rows(x[0], which); },
      [&](const Leaves& x) { return x[0].index_select(0, which); });
}

TEST(FusedTest, GatherScaled) {
  const torch::Tensor which = rows({3, 0, 3, 3, 1});
  const torch::Tensor factor = numbers(4, {5});
  expect_same(
      {numbers(1, {5, 7}), numbers(2, {7, 1})},
      [&](const Leaves& x) { return gather_scaled(x[0], which, factor, x[1]); },
      [&](const Leaves& x) {
        return x[0].index_select(0, which) * (1 + factor.unsqueeze(1).mm(x[1].t()));
      });
}

TEST(FusedTest, LayerNorm) {
  for (const std::int64_t n : {1, 3, 300}) {
    expect_same(
        {numbers(1, {n, 37}), numbers(2, {37}), numbers(3, {37})},
        [&](const Leaves& x) { return layer_norm(x[0], x[1], x[2], Path::kFast); },
        [&](const Leaves& x) { return layer_norm(x[0], x[1], x[2], Path::kPlain); });
  }
}

TEST(FusedTest, Linear) {
  for (const std::int64_t n : {0, 1, 3, 300, 700}) {  // 300 rows are split, 700 also in blocks
    for (const std::int64_t out : {1, 5, 33}) {
      expect_same(
          {numbers(1, {n, 9}), numbers(2, {out, 9}), numbers(3, {out})},
          [&](const Leaves& x) { return linear(x[0], x[1], x[2], Path::kFast); },
          [&](const Leaves& x) { return torch::linear(x[0], x[1], x[2]); });
    }
  }
  expect_same(
      {numbers(1, {4, 9}), numbers(2, {5, 9})},
      [&](const Leaves& x) { return linear(x[0], x[1], torch::Tensor(), Path::kFast); },
      [&](const Leaves& x) { return torch::linear(x[0], x[1]); });
  // Columns of a wider matrix are taken where they are.
  expect_same(
      {numbers(1, {4, 9}), numbers(2, {5, 3})},
      [&](const Leaves& x) {
        return linear(x[0].narrow(1, 2, 3), x[1], torch::Tensor(), Path::kFast);
      },
      [&](const Leaves& x) { return torch::linear(x[0].narrow(1, 2, 3), x[1]); });
}

// On the way back only rows with a gradient are multiplied.
TEST(FusedTest, LinearOfWhichSomeRowsAreUsed) {
  for (const std::vector<std::int64_t>& used :
       {std::vector<std::int64_t>{}, {4}, {0, 3, 2}, {0, 1, 2, 3, 4}}) {
    const torch::Tensor rows = to_tensor(used, torch::kCPU);
    expect_same(
        {numbers(1, {5, 9}), numbers(2, {6, 4}), numbers(3, {6})},
        [&](const Leaves& x) {
          return linear(x[0].narrow(1, 3, 4), x[1], x[2], Path::kFast).index_select(0, rows);
        },
        [&](const Leaves& x) {
          return torch::linear(x[0].narrow(1, 3, 4), x[1], x[2]).index_select(0, rows);
        });
  }
}

TEST(FusedTest, ProductsOfPartsAndTransposes) {
  const testing::ScopedThreads scope(3);
  const torch::Tensor a = numbers(1, {210, 200});
  const torch::Tensor b = numbers(2, {200, 190});
  const torch::Tensor expected = a.mm(b);
  EXPECT_TRUE(close(product(a, b), expected));
  EXPECT_TRUE(close(product(a.t().contiguous().t(), b), expected));
  EXPECT_TRUE(close(product(a, b.t().contiguous().t()), expected));
  EXPECT_TRUE(close(product(b.t(), a.t()), expected.t()));  // more columns than rows
  const torch::Tensor wide = numbers(3, {210, 400});
  const torch::Tensor before = wide.clone();
  multiply(a, b, wide.narrow(1, 7, 190), /*add=*/true);
  EXPECT_TRUE(close(wide.narrow(1, 7, 190), before.narrow(1, 7, 190) + expected));
  EXPECT_TRUE(torch::equal(wide.narrow(1, 0, 7), before.narrow(1, 0, 7)));
  EXPECT_TRUE(torch::equal(wide.narrow(1, 197, 203), before.narrow(1, 197, 203)));
  const torch::Tensor none = numbers(4, {3, 0});
  EXPECT_TRUE(torch::equal(product(none, none.t()), torch::zeros({3, 3})));
  EXPECT_TRUE(
      torch::equal(affine(none, torch::empty({2, 0}), torch::ones({2})), torch::ones({3, 2})));
}

// What a model may not see must not change a bit of what it says, so a row may not depend on its
// company; and a training must not depend on the machine's cores.
TEST(FusedTest, RowsOfProductsDependOnThemselvesAlone) {
  for (const std::int64_t k : {3, 32, 100, 172, 444}) {
    for (const std::int64_t n : {1, 13, 86, 172, 516}) {
      const torch::Tensor a = numbers(1, {300, k});
      const torch::Tensor weight = numbers(2, {n, k});
      const torch::Tensor bias = numbers(3, {n});
      const testing::ScopedThreads scope(1);
      const torch::Tensor expected = affine(a, weight, bias);
      const torch::Tensor plain = product(a, weight.t().contiguous());
      for (const std::int64_t rows : {1, 2, 3, 7, 24, 25, 26, 27, 50, 171, 299}) {
        const testing::ScopedThreads threads(rows % 2 == 0 ? 1 : 3);
        const torch::Tensor part = a.narrow(0, 300 - rows, rows);
        EXPECT_TRUE(torch::equal(affine(part, weight, bias), expected.narrow(0, 300 - rows, rows)))
            << rows << " rows, " << k << " x " << n;
        EXPECT_TRUE(
            torch::equal(product(part, weight.t().contiguous()), plain.narrow(0, 300 - rows, rows)))
            << rows << " rows, " << k << " x " << n;
      }
    }
  }
}

TEST(FusedTest, SumsOverRowsDoNotDependOnThreads) {
  const torch::Tensor a = numbers(1, {1500, 172});
  const torch::Tensor b = numbers(2, {1500, 100});
  const testing::ScopedThreads scope(1);
  const torch::Tensor expected = product(a.t(), b);
  for (const int threads : {2, 3, 7}) {
    const testing::ScopedThreads more(threads);
    EXPECT_TRUE(torch::equal(product(a.t(), b), expected)) << threads;
  }
}

// Signals may come at any time: Ctrl-C, profilers, the runtime of a host program.
TEST(FusedTest, ProductsSurviveSignals) {
  static std::atomic<int> signals = 0;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++signals; };
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGPROF, &action, &before), 0);
  itimerval every{.it_interval = {0, 1000}, .it_value = {0, 1000}};
  ASSERT_EQ(::setitimer(ITIMER_PROF, &every, nullptr), 0);
  const torch::Tensor a = numbers(1, {1500, 172});
  const torch::Tensor b = numbers(2, {172, 172});
  const torch::Tensor first = product(a, b);
  bool same = true;
  for (int i = 0; i < 20000 && (signals < 50 || i < 100); ++i) {
    same = same && torch::equal(product(a, b), first);
  }
  every = {};
  ::setitimer(ITIMER_PROF, &every, nullptr);
  ::sigaction(SIGPROF, &before, nullptr);
  EXPECT_GE(signals, 50);
  EXPECT_TRUE(same);
}

TEST(FusedTest, Sines) {
  const torch::Tensor t = torch::tensor({0.0, 0.25, -3.0, 1e4}, torch::kFloat64);
  const torch::Tensor frequency = torch::tensor({2.0, 1.0, 6.28, 1e3}, torch::kFloat64);
  expect_same(
      {frequency, torch::tensor({0.5, 0.0, -1.0, 2.0}, torch::kFloat64)},
      [&](const Leaves& x) { return sines(t, x[0], x[1]); },
      [&](const Leaves& x) {
        const torch::Tensor angle = t.unsqueeze(1) * x[0] + x[1];
        return torch::cat({angle.narrow(1, 0, 1), angle.narrow(1, 1, 3).sin()}, 1)
            .to(torch::kFloat32);
      });
}

TEST(FusedTest, SinesOfLongTimes) {
  std::vector<double> times = {0};
  for (double t = 1e-3; t < 1e6; t *= 1.37) times.push_back(t);
  const torch::Tensor t = to_tensor(times, torch::kCPU);
  const torch::Tensor frequency = torch::tensor({1.0, 1.0, 6.283, 0.1}, torch::kFloat64);
  const torch::Tensor phase = torch::zeros({4}, torch::kFloat64);
  const torch::Tensor out = sines(t, frequency, phase);
  const torch::Tensor exact = (t.unsqueeze(1) * frequency).sin();
  EXPECT_LT((out - exact).abs().narrow(1, 1, 3).max().item<double>(), 1e-6);
  EXPECT_TRUE(torch::equal(out[0], torch::zeros({4}))) << "nothing to blow up where t is 0";
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
                            .dt = std::vector<double>(8, 0.0)};
    torch::Tensor states = numbers(5, {3, 8}).requires_grad_(true);
    const torch::Tensor z = layer.forward(states, hood, Rng(6, Stream::kTest));
    (z * numbers(9, z.sizes())).sum().backward();
    return std::pair(z.detach(), states.grad());
  };
  const auto [fast, fast_gradient] = run(Path::kFast);
  const auto [plain, plain_gradient] = run(Path::kPlain);
  EXPECT_TRUE(close(fast, plain));
  EXPECT_TRUE(close(fast_gradient, plain_gradient));
}

TEST(FusedTest, SquaredSum) {
  const torch::Tensor x = numbers(1, {300, 40});
  const torch::Tensor y = numbers(2, {5}).to(torch::kFloat64);
  for (const torch::Tensor& part : {x, x.t(), x.narrow(1, 3, 7)}) {
    EXPECT_TRUE(
        close(squared_sum({part, y}), part.square().sum() + y.square().sum().to(torch::kFloat32)));
  }
}

TEST(FusedTest, TotalAndMean) {
  for (const std::int64_t n : {1, 7, 1000}) {
    expect_same(
        {numbers(1, {n, 3})},
        [](const Leaves& x) { return total(x[0], Path::kFast) * mean(x[0].t(), Path::kFast); },
        [](const Leaves& x) { return x[0].sum() * x[0].mean(); });
  }
}

// LibTorch adds up so many values in as many parts as there are threads.
TEST(FusedTest, LongSumsDoNotDependOnThreads) {
  constexpr std::int64_t kMany = 100'000;
  const torch::Tensor each = torch::zeros({kMany}, torch::kInt64);
  const auto run = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    const torch::Tensor bias = numbers(4, {1}).requires_grad_(true);
    const torch::Tensor logits =
        link_logits(numbers(1, {1, 4}), each, numbers(2, {1, 4}), each, numbers(3, {1, 4}), bias);
    const torch::Tensor loss = mean(torch::softplus(logits * numbers(5, {kMany})), Path::kFast);
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
    for (torch::Tensor (*function)(const torch::Tensor&) : {sigmoid_of, softplus_of}) {
      const auto run = [&](int threads) {
        const testing::ScopedThreads scope(threads);
        const torch::Tensor x = (4 * numbers(1, {many, 1})).requires_grad_(true);
        const torch::Tensor y = function(x);
        (y * numbers(2, {many, 1})).sum().backward();
        return std::pair(y.detach(), x.grad());
      };
      const auto [y, gradient] = run(1);
      EXPECT_EQ(y.sizes(), torch::IntArrayRef({many, 1}));
      for (const int threads : {2, 3, 5}) {
        const auto [other_y, other_gradient] = run(threads);
        EXPECT_TRUE(torch::equal(other_y, y)) << many << " values, " << threads << " threads";
        EXPECT_TRUE(torch::equal(other_gradient, gradient)) << many << ", " << threads;
      }
    }
  }
  const torch::Tensor x = numbers(1, {40'000});
  EXPECT_TRUE(torch::allclose(sigmoid_of(x), torch::sigmoid(x)));
  EXPECT_TRUE(torch::allclose(softplus_of(x), torch::softplus(x)));
}

TEST(FusedTest, LinkLogits) {
  for (const std::int64_t width : {1, 5, 16, 33}) {
    const torch::Tensor from = rows({0, 0, 2, 1, 2, 2});
    const torch::Tensor to = rows({3, 1, 1, 0, 3, 3});
    expect_same(
        {numbers(1, {3, width}), numbers(2, {4, width}), numbers(3, {1, width}), numbers(4, {1})},
        [&](const Leaves& x) { return link_logits(x[0], from, x[1], to, x[2], x[3]); },
        [&](const Leaves& x) {
          const torch::Tensor hidden =
              torch::relu(x[0].index_select(0, from) + x[1].index_select(0, to));
          return torch::linear(hidden, x[2], x[3]).squeeze(-1);
        });
  }
}

TEST(FusedTest, SplitLogits) {
  for (const std::int64_t width : {1, 5, 33}) {
    const torch::Tensor from = rows({0, 0, 2, 1, 2, 2});
    const torch::Tensor to = rows({3, 1, 1, 0, 3, 3});
    expect_same(
        {numbers(1, {3, width}), numbers(2, {4, width}), numbers(3, {6, width}),
         numbers(4, {1, width}), numbers(5, {1}), numbers(6, {width})},
        [&](const Leaves& x) {
          const SplitLogits logits = split_logits(x[0], from, x[1], to, x[2], x[3], x[4], x[5]);
          return torch::cat({logits.parts, logits.rests});
        },
        [&](const Leaves& x) {
          const torch::Tensor source = x[0].index_select(0, from);
          const torch::Tensor rest = x[1].index_select(0, to) - x[2] + x[5];
          const torch::Tensor hidden = torch::relu(torch::cat({source + x[2], source + rest}));
          return torch::linear(hidden, x[3], x[4]).squeeze(-1);
        });
  }
}

TEST(FusedTest, Standardise) {
  for (const std::int64_t count : {2, 7, 1000}) {
    expect_same(
        {3 * numbers(1, {count, 3}) + 5}, [&](const Leaves& x) { return standardise(x[0]); },
        [&](const Leaves& x) {
          const torch::Tensor centred = x[0] - x[0].mean();
          return centred / centred.square().mean().sqrt() + 1;
        });
  }
  EXPECT_TRUE(torch::equal(standardise(torch::full({7, 3}, 0.1F)), torch::ones({7, 3})));
  EXPECT_TRUE(torch::equal(standardise(torch::zeros({4, 1})), torch::ones({4, 1})));
  EXPECT_TRUE(torch::isnan(standardise(torch::full({3, 1}, NAN))).all().item<bool>());
}

TEST(FusedTest, AddCorner) {
  for (const std::int64_t rows : {1, 3, 4}) {
    expect_same(
        {numbers(1, {4, 5}), numbers(2, {4, 2})},
        [&](const Leaves& x) { return add_corner(x[0], x[1], rows); },
        [&](const Leaves& x) {
          const torch::Tensor part =
              torch::cat({x[1].narrow(0, 0, rows), torch::zeros({4 - rows, 2})});
          return x[0] + torch::cat({part, torch::zeros({4, 3})}, 1);
        });
  }
}

TEST(FusedTest, GruCell) {
  for (const std::int64_t width : {1, 6, 19}) {
    const torch::Tensor h = numbers(5, {4, width});
    expect_same(
        {5 * numbers(1, {4, 3 * width}), 5 * numbers(2, {4, width})},
        [&](const Leaves& x) { return gru_cell(x[0], x[1], h); },
        [&](const Leaves& x) {
          const auto in = x[0].chunk(3, 1);
          const torch::Tensor reset = torch::sigmoid(in[0]);
          const torch::Tensor update = torch::sigmoid(in[1]);
          const torch::Tensor fresh = torch::tanh(in[2] + reset * x[1]);
          return (1 - update) * fresh + update * h;
        });
  }
}

TEST(FusedTest, Gated) {
  const torch::Tensor owner = rows({1, 0, 1, 1, 0});
  for (const bool scaled : {true, false}) {
    Leaves leaves = {numbers(1, {2, 9}), numbers(2, {5, 9}), numbers(3, {5, 9})};
    if (scaled) leaves.push_back(numbers(4, {5, 9}));
    expect_same(
        leaves,
        [&](const Leaves& x) {
          return gated(x[0], owner, x[1], x[2], scaled ? x[3] : torch::Tensor());
        },
        [&](const Leaves& x) {
          const torch::Tensor relevant = x[2] * torch::sigmoid(x[0].index_select(0, owner) + x[1]);
          return scaled ? relevant * x[3] : relevant;
        });
  }
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

  struct Outcome {
    torch::Tensor z;
    std::map<std::string, torch::Tensor> gradients;
  };
  /// `active`: only these rows have a gradient.
  static Outcome run(Path path, std::int64_t active) {
    const auto module = layer(path);
    torch::Tensor states = numbers(5, {kStates, GetParam().width}).requires_grad_(true);
    const torch::Tensor z = module->forward(states, hood(), Rng(6, Stream::kTest));
    (z * numbers(9, z.sizes())).narrow(0, 0, active).sum().backward();
    Outcome outcome{.z = z.detach(), .gradients = {{"states", states.grad()}}};
    for (const auto& item : module->named_parameters()) {
      outcome.gradients[item.key()] = item.value().grad();
    }
    return outcome;
  }
};

TEST_P(AttentionPaths, GiveTheSameValuesAndGradients) {
  for (const std::int64_t active : {kRoots, std::int64_t{13}, std::int64_t{1}}) {
    const Outcome fast = run(Path::kFast, active);
    const Outcome plain = run(Path::kPlain, active);
    EXPECT_TRUE(close(fast.z, plain.z));
    for (const auto& [name, gradient] : plain.gradients) {
      EXPECT_TRUE(close(fast.gradients.at(name), gradient)) << name << ", active " << active;
    }
  }
}

TEST_P(AttentionPaths, FastDoesNotDependOnThreads) {
  const auto with_threads = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    return run(Path::kFast, kRoots);
  };
  const Outcome one = with_threads(1);
  const Outcome three = with_threads(3);
  EXPECT_TRUE(torch::equal(one.z, three.z));
  for (const auto& [name, gradient] : one.gradients) {
    const torch::Tensor other = three.gradients.at(name);
    ASSERT_EQ(gradient.defined(), other.defined()) << name;
    EXPECT_TRUE(!gradient.defined() || torch::equal(gradient, other)) << name;
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

// Over all gaps that occur, up to a century in seconds.
TEST(KernelTest, CosinesKeepThePhaseOfLongGaps) {
  std::vector<double> dt = {0, 1, -1, 0.5};
  for (double gap = 1e-3; gap < 4e9; gap *= 1.37) dt.push_back(gap);
  std::vector<double> frequency;
  for (int i = 0; i < 101; ++i) frequency.push_back(std::pow(10.0, -9.0 * i / 100));
  std::vector<float> out(dt.size() * frequency.size());
  kernels::cosines(dt, frequency, out.data(), std::ssize(frequency));
  for (std::size_t i = 0; i < dt.size(); ++i) {
    for (std::size_t j = 0; j < frequency.size(); ++j) {
      EXPECT_NEAR(out[i * frequency.size() + j], std::cos(dt[i] * frequency[j]), 1e-6)
          << dt[i] << " " << frequency[j];
    }
  }
}

TEST(KernelTest, CosinesOfAbsurdGapsAreCosines) {
  std::vector<double> dt;
  for (double gap = 1e12; gap < 1e300; gap *= 1.7e7) dt.push_back(gap);
  std::vector<float> out(dt.size());
  kernels::cosines(dt, std::vector<double>{1}, out.data(), 1);
  for (std::size_t i = 0; i < dt.size(); ++i) EXPECT_LE(std::abs(out[i]), 1 + 1e-6) << dt[i];
}

TEST(KernelTest, CosinesOfUsedSlotsOnly) {
  const std::vector<double> dt = {1, 2, 3, 4, 5, 6};
  const std::vector<double> frequency = {1, 0.5};
  std::vector<float> out(12, -7);
  kernels::cosines(dt, std::vector<std::int32_t>{2, 0, 1}, frequency, out.data());
  for (std::size_t slot = 0; slot < dt.size(); ++slot) {
    const bool used = slot == 0 || slot == 1 || slot == 4;
    for (std::size_t j = 0; j < 2; ++j) {
      EXPECT_NEAR(out[slot * 2 + j], used ? std::cos(dt[slot] * frequency[j]) : -7, 1e-6) << slot;
    }
  }
}

TEST(KernelTest, ParallelGroupsVisitsEveryTargetOnce) {
  const testing::ScopedThreads scope(3);
  std::vector<std::int64_t> targets(500, 4);  // one target has nearly all members
  targets.resize(510, 0);
  for (const std::int64_t count : {5, 6, 400}) {
    std::vector<int> visits(static_cast<std::size_t>(count), 0);
    kernels::parallel_groups(kernels::RowGroups::of(targets, count),
                             [&](std::int64_t begin, std::int64_t end) {
                               for (auto i = begin; i < end; ++i) {
                                 ++visits[static_cast<std::size_t>(i)];
                               }
                             });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
  }
}

TEST(KernelTest, RowGroupsListMembersInOrder) {
  const std::vector<std::int64_t> targets = {2, 0, 2, 2, 3};
  const auto groups = kernels::RowGroups::of(targets, 5);
  const auto members = [&](std::int64_t target) {
    const auto span = groups.of_target(target);
    return std::vector<std::int32_t>(span.begin(), span.end());
  };
  EXPECT_EQ(members(0), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(members(1), (std::vector<std::int32_t>{}));
  EXPECT_EQ(members(2), (std::vector<std::int32_t>{0, 2, 3}));
  EXPECT_EQ(members(3), (std::vector<std::int32_t>{4}));
  EXPECT_EQ(members(4), (std::vector<std::int32_t>{}));
}

TEST(KernelTest, RowsWithValuesFindsNaNsToo) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> matrix = {0, 0, 0, -1, 0, 0, nan, 0, 1, -1};
  EXPECT_EQ(kernels::rows_with_values(matrix.data(), 5, 2), (std::vector<std::int64_t>{1, 3, 4}));
}

TEST(KernelTest, SigmoidAndTanhSaturateWithoutTrouble) {
  const torch::Tensor in = torch::tensor({-200.0F, -20.0F, 0.0F, 20.0F, 200.0F}).view({5, 1});
  const torch::Tensor zeros = torch::zeros({5, 1});
  const torch::Tensor z = gru_cell(torch::cat({in, -in, in}, 1), torch::zeros({5, 1}), zeros);
  EXPECT_TRUE(torch::isfinite(z).all().item<bool>());
  EXPECT_TRUE(close(z, torch::sigmoid(in) * torch::tanh(in)));
}

}  // namespace
}  // namespace curnm
