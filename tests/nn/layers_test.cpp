#include <gtest/gtest.h>

#include <cmath>

#include "curnm/nn/adam.h"
#include "curnm/nn/edge_decoder.h"
#include "curnm/nn/temporal_attention.h"
#include "curnm/nn/tensors.h"
#include "curnm/nn/time_encoding.h"
#include "support/gradients.h"

namespace curnm {
namespace {

using testing::expect_gradient;

torch::Tensor numbers(std::uint64_t seed, std::vector<std::int64_t> shape) {
  torch::Tensor x = torch::empty(shape);
  keyed_uniform_(x, 1, Rng(seed, Stream::kTest));
  return x;
}

TEST(TimeEncodingTest, FrequenciesAndPhasesAreFixed) {
  CosineTimeEncoding encoding(10, /*learned=*/false, /*scale=*/1);
  EXPECT_TRUE(encoding.parameters().empty());
  const torch::Tensor phi = encoding.forward(torch::tensor({0.0, 3.0, 1e6}, torch::kFloat64));
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
  const torch::Tensor phi = encoding.forward(torch::tensor({1e9, 1e9 + 1}, torch::kFloat64));
  EXPECT_NEAR(phi[0][0].item<float>(), std::cos(1e9), 1e-6);
  EXPECT_NEAR(phi[1][0].item<float>(), std::cos(1e9 + 1), 1e-6);
}

TEST(TimeEncodingTest, LearnedOnesWorkOnScaledTime) {
  CosineTimeEncoding encoding(4, /*learned=*/true, /*scale=*/1000);
  EXPECT_EQ(encoding.parameters().size(), 2U);
  const torch::Tensor phi = encoding.forward(torch::tensor({500.0}, torch::kFloat64));
  EXPECT_NEAR(phi[0][0].item<float>(), std::cos(0.5), 1e-6);
}

TEST(EdgeDecoderTest, MatchesTheFormulaByLoops) {
  EdgeDecoder decoder(3);
  initialise(decoder, Rng(1, Stream::kTest));
  const torch::Tensor u = numbers(2, {4, 3});
  const torch::Tensor v = numbers(3, {4, 3});
  const LinkFunction link = decoder.function();
  const torch::Tensor each = torch::arange(4);
  const torch::Tensor logits = link.logits(link.source(u), each, link.destination(v), each);
  const auto p = decoder.named_parameters();
  const auto at = [](const torch::Tensor& t, std::int64_t i, std::int64_t j) {
    return t[i][j].item<double>();
  };
  for (std::int64_t row = 0; row < 4; ++row) {
    double out = p["out.bias"][0].item<double>();
    for (std::int64_t k = 0; k < 3; ++k) {
      double hidden = p["source.bias"][k].item<double>() + p["destination.bias"][k].item<double>();
      for (std::int64_t d = 0; d < 3; ++d) {
        hidden += at(p["source.weight"], k, d) * at(u, row, d) +
                  at(p["destination.weight"], k, d) * at(v, row, d);
      }
      out += at(p["out.weight"], 0, k) * std::max(hidden, 0.0);
    }
    EXPECT_NEAR(logits[row].item<double>(), out, 1e-5);
  }
}

Neighborhood small_hood() {
  return {.neighbors = 2,
          .num_roots = 3,
          .roots = {0, 2, 1},
          .counts = {2, 1, 0},
          .rows = {1, 2, 3, 0, 0, 0},
          .dt = {1, 20, 300, 0, 0, 0},
          .events = {4, 2, 0, 1, 1, 1},
          .edges = numbers(9, {5, 2})};
}

/// The layer as its comment states it, root by root, in double.
std::vector<double> naive_attention(TemporalAttention& layer, const AttentionOptions& o,
                                    const torch::Tensor& states, const Neighborhood& hood,
                                    std::int64_t r) {
  const auto p = layer.named_parameters();
  const CosineTimeEncoding encoding(o.time_width, false, 1);
  const auto linear = [&](const std::string& name, const torch::Tensor& x) {
    torch::Tensor y = torch::mv(p[name + ".weight"].to(torch::kFloat64), x.to(torch::kFloat64));
    if (p.contains(name + ".bias")) y = y + p[name + ".bias"].to(torch::kFloat64);
    return y;
  };
  const auto phi = [&](double dt) {
    return encoding.forward(torch::tensor({dt}, torch::kFloat64))[0];
  };
  const torch::Tensor own = states[hood.roots[static_cast<std::size_t>(r)]];
  const torch::Tensor q = linear("query_node", own) + linear("query_time", phi(0));
  std::vector<torch::Tensor> keys;
  std::vector<torch::Tensor> values;
  for (std::int64_t j = 0; j < hood.counts[static_cast<std::size_t>(r)]; ++j) {
    const auto slot = static_cast<std::size_t>(r * hood.neighbors + j);
    const torch::Tensor h = states[hood.rows[slot]];
    const torch::Tensor t = phi(hood.dt[slot]);
    const torch::Tensor edge = hood.edges[hood.events[slot]];
    keys.push_back(linear("key_node", h) + linear("key_time", t) + linear("key_edge", edge));
    values.push_back(linear("value_node", h) + linear("value_time", t) +
                     linear("value_edge", edge));
  }
  torch::Tensor gathered = torch::zeros({o.width}, torch::kFloat64);
  const std::int64_t head = o.width / o.heads;
  for (std::int64_t h = 0; h < o.heads; ++h) {
    double total = 0;
    std::vector<double> weights;
    for (const torch::Tensor& k : keys) {
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
  const torch::Tensor mixed =
      torch::relu(linear("out", torch::cat({gathered, own.to(torch::kFloat64)})));
  const torch::Tensor centred = mixed - mixed.mean();
  const torch::Tensor z = centred / torch::sqrt(centred.square().mean() + 1e-5);
  return {z.data_ptr<double>(), z.data_ptr<double>() + o.width};
}

TEST(TemporalAttentionTest, MatchesTheFormulaByLoops) {
  const AttentionOptions options{
      .width = 6, .heads = 2, .time_width = 5, .edge_width = 2, .dropout = 0};
  TemporalAttention layer(options);
  initialise(layer, Rng(4, Stream::kTest));
  const torch::Tensor states = numbers(5, {4, 6});
  const Neighborhood hood = small_hood();
  const torch::Tensor z = layer.forward(states, hood, Rng(0, Stream::kTest));
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
  const torch::Tensor states = numbers(5, {4, 6});
  Neighborhood hood = small_hood();
  const torch::Tensor before = layer.forward(states, hood, Rng(0, Stream::kTest));
  hood.rows[3] = 3;
  hood.dt[4] = 1e8;
  hood.edges[1] += 100;
  EXPECT_TRUE(torch::equal(before, layer.forward(states, hood, Rng(0, Stream::kTest))));
}

TEST(TemporalAttentionTest, GradientsMatchFiniteDifferences) {
  TemporalAttention layer(
      {.width = 4, .heads = 2, .time_width = 0, .edge_width = 0, .dropout = 0.3});
  initialise(layer, Rng(4, Stream::kTest));
  layer.to(torch::kFloat64);
  layer.train();
  torch::Tensor states = numbers(5, {4, 4}).to(torch::kFloat64).requires_grad_(true);
  Neighborhood hood = small_hood();
  const torch::Tensor weights = numbers(6, {3, 4}).to(torch::kFloat64);
  const auto loss = [&] {
    return (layer.forward(states, hood, Rng(7, Stream::kTest)) * weights).sum();
  };
  expect_gradient(states, loss);
  for (torch::Tensor& parameter : layer.parameters()) {
    expect_gradient(parameter, loss);
  }
}

TEST(DropoutTest, IsAFunctionOfItsKeyAndKeepsTheMean) {
  const torch::Tensor ones = torch::ones({200, 100});
  const torch::Tensor a = keyed_dropout(ones, 0.25, Rng(1, Stream::kTest));
  EXPECT_TRUE(torch::equal(a, keyed_dropout(ones, 0.25, Rng(1, Stream::kTest))));
  EXPECT_FALSE(torch::equal(a, keyed_dropout(ones, 0.25, Rng(2, Stream::kTest))));
  // 20,000 values: the share of zeros is 0.25 with a standard deviation of 0.003.
  EXPECT_NEAR((a == 0).to(torch::kFloat64).mean().item<double>(), 0.25, 0.015);
  EXPECT_NEAR(a.mean().item<double>(), 1, 0.02);
  EXPECT_TRUE(torch::equal(ones, keyed_dropout(ones, 0, Rng(1, Stream::kTest))));
}

// Torch's weight decay is the gradient of half a squared norm.
TEST(AdamTest, StepsLikeTorch) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    for (const double decay : {0.0, 0.25}) {
      torch::Tensor ours = numbers(1, {3, 4}).requires_grad_(true);
      torch::Tensor theirs = ours.detach().clone().requires_grad_(true);
      Adam adam({ours}, {.learning_rate = 0.01, .path = path});
      torch::optim::Adam reference({theirs},
                                   torch::optim::AdamOptions(0.01).weight_decay(2 * decay));
      for (int step = 0; step < 20; ++step) {
        adam.zero_grad();
        reference.zero_grad();
        (ours.pow(4).sum() + ours.sin().sum()).backward();
        (theirs.pow(4).sum() + theirs.sin().sum()).backward();
        adam.step(decay);
        reference.step();
        EXPECT_TRUE(torch::allclose(ours, theirs, 1e-6, 1e-7)) << step << ", decay " << decay;
      }
    }
  }
}

TEST(AdamTest, DecaysWhatTheLossDoesNotTouch) {
  torch::Tensor x = torch::ones({2}).requires_grad_(true);
  torch::Tensor y = torch::ones({2}).requires_grad_(true);
  Adam adam({x, y}, {.learning_rate = 0.01, .decaying = 1});
  adam.step();
  EXPECT_TRUE(torch::equal(x, torch::ones({2})));
  adam.step(/*decay=*/1);
  EXPECT_LT(x.max().item<float>(), 1);
  EXPECT_TRUE(torch::equal(y, torch::ones({2}))) << "not one of those that decay";
}

TEST(AdamTest, StateCarriesOnToTheBit) {
  torch::Tensor x = numbers(1, {5}).requires_grad_(true);
  Adam adam({x}, {.learning_rate = 0.01});
  const auto step = [](torch::Tensor& y, Adam& optimizer) {
    optimizer.zero_grad();
    y.pow(2).sum().backward();
    optimizer.step();
  };
  step(x, adam);
  torch::Tensor copy = x.detach().clone().requires_grad_(true);
  Adam resumed({copy}, {.learning_rate = 0.01});
  resumed.set_state(adam.state());
  for (int i = 0; i < 3; ++i) {
    step(x, adam);
    step(copy, resumed);
  }
  EXPECT_TRUE(torch::equal(x, copy));
}

TEST(InitialiseTest, DependsOnTheKeyAndTheNameAlone) {
  EdgeDecoder a(8);
  EdgeDecoder b(8);
  initialise(a, Rng(1, Stream::kTest));
  initialise(b, Rng(1, Stream::kTest));
  for (const auto& item : a.named_parameters()) {
    EXPECT_TRUE(torch::equal(item.value(), b.named_parameters()[item.key()])) << item.key();
  }
  EXPECT_FALSE(torch::equal(a.named_parameters()["source.weight"],
                            a.named_parameters()["destination.weight"]));
}

}  // namespace
}  // namespace curnm
