#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "curnm/nn/adam.h"
#include "curnm/nn/temporal_attention.h"
#include "curnm/nn/tensors.h"
#include "curnm/nn/time_encoding.h"
#include "support/gradients.h"
#include "support/tensors.h"

namespace curnm {
namespace {

using testing::expect_gradient;

Tensor numbers(std::uint64_t seed, std::vector<std::int64_t> shape) {
  Tensor x = at::empty(shape);
  keyed_uniform_(x, 1, Rng(seed, Stream::kTest));
  return x;
}

TEST(TimeEncodingTest, FrequenciesAndPhasesAreFixed) {
  CosineTimeEncoding encoding(10, /*learned=*/false, /*scale=*/1);
  EXPECT_TRUE(encoding.parameters().empty());
  const Tensor phi = encoding.forward(at::tensor({0.0, 3.0, 1e6}, at::kDouble));
  ASSERT_EQ(phi.sizes(), (std::vector<std::int64_t>{3, 10}));
  for (std::int64_t i = 0; i < 10; ++i) {
    const double w = std::pow(10.0, -static_cast<double>(i));  // 1 .. 1e-9 in ten steps
    EXPECT_FLOAT_EQ(phi[0][i].item<float>(), 1.0F);
    EXPECT_NEAR(phi[1][i].item<float>(), std::cos(3 * w), 1e-6);
    EXPECT_NEAR(phi[2][i].item<float>(), std::cos(1e6 * w), 1e-6);
  }
}

// In float, 1e9 and 1e9 + 1 are the same number.
TEST(TimeEncodingTest, LongGapsKeepTheirPhase) {
  CosineTimeEncoding encoding(4, /*learned=*/false, /*scale=*/1);
  const Tensor phi = encoding.forward(at::tensor({1e9, 1e9 + 1}, at::kDouble));
  EXPECT_NEAR(phi[0][0].item<float>(), std::cos(1e9), 1e-6);
  EXPECT_NEAR(phi[1][0].item<float>(), std::cos(1e9 + 1), 1e-6);
}

TEST(TimeEncodingTest, LearnedOnesWorkOnScaledTime) {
  CosineTimeEncoding encoding(4, /*learned=*/true, /*scale=*/1000);
  EXPECT_EQ(encoding.parameters().size(), 2U);
  const Tensor phi = encoding.forward(at::tensor({500.0}, at::kDouble));
  EXPECT_NEAR(phi[0][0].item<float>(), std::cos(0.5), 1e-6);
}

Neighborhood small_hood() {
  return {.neighbors = 2,
          .num_roots = 3,
          .roots = {0, 2, 1},
          .counts = {2, 1, 0},
          .rows = {1, 2, 3, 0, 0, 0},
          .dt = {1, 20, 300, 0, 0, 0},
          .events = {4, 2, 0, 1, 1, 1},
          .keys = {10, 11, 12},
          .edges = numbers(9, {5, 2})};
}

/// The layer as its comment states it, root by root, in double.
std::vector<double> naive_attention(TemporalAttention& layer, const AttentionOptions& o,
                                    const Tensor& states, const Neighborhood& hood,
                                    std::int64_t r) {
  const auto p = layer.named_parameters();
  const CosineTimeEncoding encoding(o.time_width, false, 1);
  const auto linear = [&](const std::string& name, const Tensor& x) {
    Tensor y = at::mv(p[name + ".weight"].to(at::kDouble), x.to(at::kDouble));
    if (p.contains(name + ".bias")) y = y + p[name + ".bias"].to(at::kDouble);
    return y;
  };
  const auto phi = [&](double dt) { return encoding.forward(at::tensor({dt}, at::kDouble))[0]; };
  const Tensor own = states[hood.roots[static_cast<std::size_t>(r)]];
  const Tensor q = linear("query_node", own) + linear("query_time", phi(0));
  std::vector<Tensor> keys;
  std::vector<Tensor> values;
  for (std::int64_t j = 0; j < hood.counts[static_cast<std::size_t>(r)]; ++j) {
    const auto slot = static_cast<std::size_t>(r * hood.neighbors + j);
    const Tensor h = states[hood.rows[slot]];
    const Tensor t = phi(hood.dt[slot]);
    const Tensor edge = hood.edges[hood.events[slot]];
    keys.push_back(linear("key_node", h) + linear("key_time", t) + linear("key_edge", edge));
    values.push_back(linear("value_node", h) + linear("value_time", t) +
                     linear("value_edge", edge));
  }
  Tensor gathered = at::zeros({o.width}, at::kDouble);
  const std::int64_t head = o.width / o.heads;
  for (std::int64_t h = 0; h < o.heads; ++h) {
    double total = 0;
    std::vector<double> weights;
    for (const Tensor& k : keys) {
      double score = 0;
      for (std::int64_t d = h * head; d < (h + 1) * head; ++d)
        score += q[d].item<double>() * k[d].item<double>();
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(head))));
      total += weights.back();
    }
    for (std::size_t j = 0; j < keys.size(); ++j) {
      for (std::int64_t d = h * head; d < (h + 1) * head; ++d)
        gathered[d] += weights[j] / total * values[j][d];
    }
  }
  const Tensor mixed = at::relu(linear("out", at::cat({gathered, own.to(at::kDouble)})));
  const Tensor centred = mixed - mixed.mean();
  const Tensor z = centred / at::sqrt(centred.square().mean() + 1e-5);
  return {z.data_ptr<double>(), z.data_ptr<double>() + o.width};
}

TEST(TemporalAttentionTest, MatchesTheFormulaByLoops) {
  const AttentionOptions options{
      .width = 6, .heads = 2, .time_width = 5, .edge_width = 2, .dropout = 0};
  TemporalAttention layer(options);
  initialise(layer, Rng(4, Stream::kTest));
  const Tensor states = numbers(5, {4, 6});
  const Neighborhood hood = small_hood();
  const Tensor z = layer.forward(states, hood, Rng(0, Stream::kTest));
  for (std::int64_t r = 0; r < 3; ++r) {
    const std::vector<double> expected = naive_attention(layer, options, states, hood, r);
    for (std::int64_t d = 0; d < options.width; ++d) {
      EXPECT_NEAR(z[r][d].item<double>(), expected[static_cast<std::size_t>(d)], 2e-4)
          << r << " " << d;
    }
  }
}

TEST(TemporalAttentionTest, MaskedNeighboursDoNotMatter) {
  TemporalAttention layer({.width = 6, .heads = 3, .time_width = 5, .edge_width = 2, .dropout = 0});
  initialise(layer, Rng(4, Stream::kTest));
  const Tensor states = numbers(5, {4, 6});
  Neighborhood hood = small_hood();
  const Tensor before = layer.forward(states, hood, Rng(0, Stream::kTest));
  hood.rows[3] = 3;
  hood.dt[4] = 1e8;
  hood.edges[1] += 100;
  EXPECT_TRUE(at::equal(before, layer.forward(states, hood, Rng(0, Stream::kTest))));
}

TEST(TemporalAttentionTest, GradientsMatchFiniteDifferences) {
  TemporalAttention layer(
      {.width = 4, .heads = 2, .time_width = 0, .edge_width = 0, .dropout = 0.3});
  initialise(layer, Rng(4, Stream::kTest));
  testing::to_double(layer);
  layer.train();
  Tensor states = numbers(5, {4, 4}).to(at::kDouble).requires_grad_(true);
  Neighborhood hood = small_hood();
  const Tensor weights = numbers(6, {3, 4}).to(at::kDouble);
  const auto loss = [&] {
    return (layer.forward(states, hood, Rng(7, Stream::kTest)) * weights).sum();
  };
  expect_gradient(states, loss);
  for (Tensor& parameter : layer.parameters()) {
    expect_gradient(parameter, loss);
  }
}

TEST(DropoutTest, IsAFunctionOfItsKeyAndKeepsTheMean) {
  const Tensor ones = at::ones({200, 100});
  std::vector<std::uint64_t> rows(200);
  std::iota(rows.begin(), rows.end(), 1000);
  const Tensor a = keyed_dropout(ones, 0.25, rows, Rng(1, Stream::kTest));
  EXPECT_TRUE(at::equal(a, keyed_dropout(ones, 0.25, rows, Rng(1, Stream::kTest))));
  EXPECT_FALSE(at::equal(a, keyed_dropout(ones, 0.25, rows, Rng(2, Stream::kTest))));
  // A row's mask is its own wherever it stands.
  const std::vector<std::uint64_t> some = {1150, 1003};
  const Tensor b = keyed_dropout(at::ones({2, 100}), 0.25, some, Rng(1, Stream::kTest));
  EXPECT_TRUE(at::equal(b[0], a[150]));
  EXPECT_TRUE(at::equal(b[1], a[3]));
  // 20,000 values: the share of zeros is 0.25 with a standard deviation of 0.003.
  EXPECT_NEAR((a == 0).to(at::kDouble).mean().item<double>(), 0.25, 0.015);
  EXPECT_NEAR(a.mean().item<double>(), 1, 0.02);
  EXPECT_TRUE(at::equal(ones, keyed_dropout(ones, 0, rows, Rng(1, Stream::kTest))));
}

TEST(AdamTest, TakesParametersAndGradientsInAnyLayout) {
  const Tensor start = numbers(1, {3, 4});
  const auto trained = [](Tensor x) {
    x.requires_grad_(true);
    Adam adam({x}, {.learning_rate = 0.01, .weight_decay = 0.1});
    for (int step = 0; step < 3; ++step) {
      adam.zero_grad();
      (x.t() * numbers(2, {4, 3})).pow(2).sum().backward();
      adam.step();
    }
    return x.detach();
  };
  const Tensor expected = trained(start.clone());
  EXPECT_TRUE(at::allclose(trained(start.t().clone().t()), expected, 1e-6, 1e-7));
  EXPECT_TRUE(
      at::allclose(trained(at::cat({start, start}, 1).narrow(1, 0, 4)), expected, 1e-6, 1e-7));
}

TEST(AdamTest, DecaysWhatTheLossDoesNotTouch) {
  Tensor x = at::ones({2}).requires_grad_(true);
  Tensor y = at::ones({2}).requires_grad_(true);
  Adam({x, y}, {.learning_rate = 0.01, .decaying = 1}).step();
  EXPECT_TRUE(at::equal(x, at::ones({2})));
  Adam({x, y}, {.learning_rate = 0.01, .weight_decay = 1, .decaying = 1}).step();
  EXPECT_LT(x.max().item<float>(), 1);
  EXPECT_TRUE(at::equal(y, at::ones({2}))) << "not one of those that decay";
}

TEST(AdamTest, StateCarriesOnToTheBit) {
  Tensor x = numbers(1, {5}).requires_grad_(true);
  Adam adam({x}, {.learning_rate = 0.01});
  const auto step = [](Tensor& y, Adam& optimizer) {
    optimizer.zero_grad();
    y.pow(2).sum().backward();
    optimizer.step();
  };
  step(x, adam);
  Tensor copy = x.detach().clone().requires_grad_(true);
  Adam resumed({copy}, {.learning_rate = 0.01});
  resumed.set_state(adam.state());
  for (int i = 0; i < 3; ++i) {
    step(x, adam);
    step(copy, resumed);
  }
  EXPECT_TRUE(at::equal(x, copy));
}

TEST(InitialiseTest, DependsOnTheKeyAndTheNameAlone) {
  RecurrentCell a(RecurrentCell::Kind::kTanh, 8, 8);
  RecurrentCell b(RecurrentCell::Kind::kTanh, 8, 8);
  initialise(a, Rng(1, Stream::kTest));
  initialise(b, Rng(1, Stream::kTest));
  for (const auto& item : a.named_parameters()) {
    EXPECT_TRUE(at::equal(item.value(), b.named_parameters()[item.key()])) << item.key();
  }
  EXPECT_FALSE(at::equal(a.named_parameters()["weight_ih"], a.named_parameters()["weight_hh"]));
}

}  // namespace
}  // namespace curnm
