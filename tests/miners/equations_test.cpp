#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "curnm/miners/curnm/factors.h"
#include "curnm/miners/curnm/objective.h"
#include "curnm/nn/edge_decoder.h"
#include "curnm/nn/tensors.h"
#include "support/gradients.h"

// Every equation about embeddings and scores three times: values computed by hand, plain loops on
// random input, finite differences.

namespace curnm {
namespace {

using testing::expect_gradient;

constexpr std::int64_t kPositives = 3;
constexpr std::int64_t kNegatives = 5;
constexpr std::int64_t kWidth = 4;

/// Random numbers, double: so are the modules here, since finite differences need it.
torch::Tensor numbers(std::uint64_t seed, std::vector<std::int64_t> shape) {
  torch::Tensor x = torch::empty(shape);
  keyed_uniform_(x, 1, Rng(seed, Stream::kTest));
  return x.to(torch::kFloat64);
}

torch::Tensor leaf(std::uint64_t seed, std::vector<std::int64_t> shape) {
  return numbers(seed, std::move(shape)).requires_grad_(true);
}

torch::Tensor doubles(std::vector<double> values) { return torch::tensor(values, torch::kFloat64); }

torch::Tensor column(std::vector<double> values) {
  return doubles(std::move(values)).view({-1, 1});
}

double at(const torch::Tensor& x, std::int64_t i) { return x[i].item<double>(); }
double at(const torch::Tensor& x, std::int64_t i, std::int64_t j) { return x[i][j].item<double>(); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void expect_values(const torch::Tensor& actual, const std::vector<double>& expected,
                   double tolerance = 1e-12) {
  const torch::Tensor flat = actual.reshape(-1);
  ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(at(flat, static_cast<std::int64_t>(i)), expected[i], tolerance) << "entry " << i;
  }
}

/// Gives a parameter values written by hand.
void set(torch::nn::Module& module, const std::string& name, const std::vector<double>& values) {
  const torch::NoGradGuard no_grad;
  torch::Tensor parameter = module.named_parameters()[name];
  parameter.copy_(doubles(values).view(parameter.sizes()));
}

/// Random double parameters, all of them: also those that start at zero.
template <class Module>
std::shared_ptr<Module> randomised(std::shared_ptr<Module> module, std::uint64_t seed) {
  module->to(torch::kFloat64);
  for (torch::Tensor& parameter : module->parameters()) {
    keyed_uniform_(parameter, 1, Rng(seed++, Stream::kTest));
  }
  return module;
}

/// A scalar that depends on every entry in its own way.
torch::Tensor mixed(const torch::Tensor& x) { return (x * numbers(99, x.sizes().vec())).sum(); }

void expect_gradients(const std::vector<torch::Tensor>& leaves,
                      const std::function<torch::Tensor()>& f) {
  for (const torch::Tensor& x : leaves) expect_gradient(x, f);
}

std::vector<double> naive_normalise(const std::vector<double>& x) {
  double mean = 0;
  for (double value : x) mean += value / static_cast<double>(x.size());
  double variance = 0;
  for (double value : x)
    variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
  std::vector<double> z;
  for (double value : x) z.push_back((value - mean) / std::sqrt(variance) + 1);
  return z;
}

std::vector<double> to_vector(const torch::Tensor& x) {
  const torch::Tensor flat = x.detach().contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

TEST(NormaliseTest, LiteralValues) {
  expect_values(normalise(doubles({1, 3})), {0, 2});
  const double root = std::sqrt(3.0);
  expect_values(normalise(doubles({0, 0, 0, 4}).view({2, 2})),
                {1 - 1 / root, 1 - 1 / root, 1 - 1 / root, 1 + root});
}

TEST(NormaliseTest, IsOneWhereAllIsTheSame) {
  expect_values(normalise(torch::zeros({3, 2}, torch::kFloat64)), std::vector<double>(6, 1));
  // In float, the mean of equal numbers need not be that number.
  for (const float value : {0.1F, 0.3F, 1e-3F, 7.7F, -123.4F}) {
    for (const std::int64_t count : {2, 7, 100, 1001}) {
      const torch::Tensor z = normalise(torch::full({count}, value));
      EXPECT_LT((z - 1).abs().max().item<float>(), 1e-3) << count << " times " << value;
    }
  }
}

TEST(NormaliseTest, MatchesLoops) {
  const torch::Tensor x = 5 * numbers(1, {4, 3}) + 2;
  expect_values(normalise(x), naive_normalise(to_vector(x)));
}

TEST(NormaliseTest, GradientsMatchFiniteDifferences) {
  const torch::Tensor x = leaf(2, {4, 3});
  expect_gradient(x, [&] { return mixed(normalise(x)); });
}

// A gradient of 1e12 is finite, but Adam would not forget it for tens of thousands of steps.
TEST(NormaliseTest, WhereAllIsTheSameTheGradientStaysModest) {
  const torch::Tensor x = torch::zeros({3, 2}, torch::kFloat64).requires_grad_(true);
  const torch::Tensor y = mixed(normalise(x));
  if (y.requires_grad()) y.backward();
  EXPECT_LE(x.grad().defined() ? x.grad().abs().max().item<double>() : 0, 1e3);
}

TEST(Time2VecTest, FrequenciesReachFromThePeriodToTheShortestTime) {
  const Time2Vec encoding(/*hidden=*/4, /*width=*/1, /*shortest=*/1.0 / 16);
  const auto parameters = encoding.named_parameters();
  constexpr double kTurn = 2 * std::numbers::pi;
  expect_values(parameters["frequency"], {1, kTurn, 4 * kTurn, 16 * kTurn}, 1e-9);
  expect_values(parameters["phase"], {0, 0, 0, 0});
  // A period without steps, or with one: nothing is faster than the period.
  const Time2Vec slow(/*hidden=*/3, /*width=*/1, /*shortest=*/1);
  expect_values(slow.named_parameters()["frequency"], {1, kTurn, kTurn}, 1e-9);
}

// Hidden values (t, sin 2 pi t, sin 8 pi t): (1/4, 1, 0) and (1/16, sin(pi/8), 1).
TEST(Time2VecTest, LiteralValues) {
  Time2Vec encoding(/*hidden=*/3, /*width=*/1, /*shortest=*/0.25);
  encoding.to(torch::kFloat64);
  set(encoding, "out.weight", {2, 3, 5});
  set(encoding, "out.bias", {0.5});
  expect_values(encoding.forward(doubles({0.25, 0.0625})), {4, 5.625 + 3 * 0.3826834323650898});
  set(encoding, "phase", {1, 0, std::numbers::pi / 2});
  expect_values(encoding.forward(doubles({0.25})), {2 * 1.25 + 3 + 5 + 0.5});
}

TEST(Time2VecTest, MatchesLoops) {
  const auto encoding = randomised(std::make_shared<Time2Vec>(5, 3, 0.1), 10);
  const auto p = encoding->named_parameters();
  const torch::Tensor t = numbers(20, {4});
  std::vector<double> expected;
  for (std::int64_t n = 0; n < 4; ++n) {
    for (std::int64_t d = 0; d < 3; ++d) {
      double out = at(p["out.bias"], d);
      for (std::int64_t i = 0; i < 5; ++i) {
        const double angle = at(p["frequency"], i) * at(t, n) + at(p["phase"], i);
        out += at(p["out.weight"], d, i) * (i == 0 ? angle : std::sin(angle));
      }
      expected.push_back(out);
    }
  }
  expect_values(encoding->forward(t), expected);
}

TEST(Time2VecTest, GradientsMatchFiniteDifferences) {
  const auto encoding = randomised(std::make_shared<Time2Vec>(4, 3, 0.1), 11);
  const torch::Tensor t = numbers(21, {5});
  expect_gradients(encoding->parameters(), [&] { return mixed(encoding->forward(t)); });
}

// Ten million turns per period: a quarter of one is far below what float resolves near 0.9.
TEST(Time2VecTest, FastPhasesAreExact) {
  Time2Vec encoding(/*hidden=*/2, /*width=*/1, /*shortest=*/1);
  set(encoding, "frequency", {1, 2 * std::numbers::pi * 1e7});
  set(encoding, "out.weight", {0, 1});
  set(encoding, "out.bias", {0});
  expect_values(encoding.forward(doubles({0.9, 0.9 + 0.25e-7})), {0, 1}, 1e-5);
}

torch::Tensor opened(Gate& gate, const torch::Tensor& context, const torch::Tensor& h) {
  return torch::sigmoid(gate.context(context) + gate.own(h));
}

TEST(GateTest, LiteralValues) {
  Gate gate(1);
  gate.to(torch::kFloat64);
  set(gate, "context.weight", {2});
  set(gate, "own.weight", {-1});
  set(gate, "own.bias", {0.5});
  // 2·1 - 3 + 0.5 = -0.5 and 2·0 - 0 + 0.5 = 0.5
  expect_values(opened(gate, column({1, 0}), column({3, 0})),
                {0.3775406687981454, 0.6224593312018546});
}

/// sigmoid(W [context ‖ h] + b) of one row, with the two halves of W.
std::vector<double> naive_gate(const torch::nn::Module& module, const std::string& prefix,
                               const std::vector<double>& context, const std::vector<double>& h) {
  const auto p = module.named_parameters();
  std::vector<double> gate;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(h.size()); ++d) {
    double sum = at(p[prefix + "own.bias"], d);
    for (std::size_t k = 0; k < h.size(); ++k) {
      sum += at(p[prefix + "context.weight"], d, static_cast<std::int64_t>(k)) * context[k] +
             at(p[prefix + "own.weight"], d, static_cast<std::int64_t>(k)) * h[k];
    }
    gate.push_back(sigmoid(sum));
  }
  return gate;
}

TEST(GateTest, MatchesLoops) {
  const auto gate = randomised(std::make_shared<Gate>(kWidth), 30);
  const torch::Tensor context = numbers(40, {kPositives, kWidth});
  const torch::Tensor h = numbers(41, {kPositives, kWidth});
  const torch::Tensor found = opened(*gate, context, h);
  for (std::int64_t n = 0; n < kPositives; ++n) {
    expect_values(found[n], naive_gate(*gate, "", to_vector(context[n]), to_vector(h[n])));
  }
}

TEST(GateTest, GradientsMatchFiniteDifferences) {
  const auto gate = randomised(std::make_shared<Gate>(kWidth), 31);
  const torch::Tensor context = leaf(42, {kPositives, kWidth});
  const torch::Tensor h = leaf(43, {kPositives, kWidth});
  const auto f = [&] { return mixed(opened(*gate, context, h)); };
  expect_gradients({context, h}, f);
  expect_gradients(gate->parameters(), f);
}

/// Width 1, gates as told, and a Time2Vec that is the time itself.
Factors plain_factors(bool temporal) {
  Factors factors({.width = 1, .time2vec_width = 2, .temporal = temporal});
  factors.to(torch::kFloat64);
  for (const char* gate : {"positive_gate", "negative_gate"}) {
    for (const char* part : {".context.weight", ".own.weight", ".own.bias"}) {
      set(factors, std::string(gate) + part, {0});
    }
  }
  if (temporal) {
    set(factors, "time2vec.out.weight", {1, 0});
    set(factors, "time2vec.out.bias", {0});
  }
  return factors;
}

// Gates of 1/2 and sigmoid(ln 3) = 3/4; z of the times 0 and 1 is 0 and 2.
TEST(PositiveFactorTest, LiteralValues) {
  Factors factors = plain_factors(/*temporal=*/true);
  set(factors, "positive_gate.context.weight", {std::log(3.0)});
  const Factor factor = factors.positive(column({0, 1}), column({2, 4}), doubles({0, 1}));
  expect_values(factor.gate, {0.5, 0.75});
  expect_values(factor.relevant, {0, 6});

  Factors timeless = plain_factors(/*temporal=*/false);
  expect_values(timeless.positive(column({0, 1}), column({2, 4}), doubles({0, 1})).relevant,
                {1, 2});
}

// t2v(met) + t2v(seen) is 1 and 2, of which z is 0 and 2.
TEST(RecencyTest, LiteralValues) {
  Factors factors = plain_factors(/*temporal=*/true);
  expect_values(factors.recency(doubles({0, 1}), doubles({1, 1})), {0, 2});
  EXPECT_FALSE(plain_factors(/*temporal=*/false).recency(doubles({0}), doubles({1})).defined());
}

// Gates sigmoid(0) and sigmoid(ln 3) of the positives' factors, picked by owner.
TEST(NegativeFactorTest, LiteralValues) {
  Factors factors = plain_factors(/*temporal=*/true);
  set(factors, "negative_gate.context.weight", {1});
  const Factor positive{.relevant = column({0, std::log(3.0)}), .gate = column({1, 1})};
  const torch::Tensor owner = torch::tensor({1, 0, 1}, torch::kInt64);
  const Factor factor = factors.negative(positive, owner, column({4, 4, 8}), column({1, 2, 0.5}));
  expect_values(factor.gate, {0.75, 0.5, 0.75});
  expect_values(factor.relevant, {3, 4, 3});
  expect_values(factors.negative(positive, owner, column({4, 4, 8}), {}).relevant, {3, 2, 6});
}

/// Factors of random input, and the same by loops.
class FactorsTest : public ::testing::Test {
 protected:
  std::vector<double> naive_time2vec(double t) const {
    const auto p = factors->named_parameters();
    std::vector<double> encoded;
    for (std::int64_t d = 0; d < kWidth; ++d) {
      double out = at(p["time2vec.out.bias"], d);
      for (std::int64_t i = 0; i < 3; ++i) {
        const double angle = at(p["time2vec.frequency"], i) * t + at(p["time2vec.phase"], i);
        out += at(p["time2vec.out.weight"], d, i) * (i == 0 ? angle : std::sin(angle));
      }
      encoded.push_back(out);
    }
    return encoded;
  }

  std::vector<double> naive_positive(std::int64_t i) const {
    std::vector<double> times;
    for (std::int64_t row = 0; row < kPositives; ++row) {
      const std::vector<double> encoded = naive_time2vec(at(now, row));
      times.insert(times.end(), encoded.begin(), encoded.end());
    }
    const std::vector<double> z = naive_normalise(times);
    const std::vector<double> gate =
        naive_gate(*factors, "positive_gate.", to_vector(h_u[i]), to_vector(h_v[i]));
    std::vector<double> relevant;
    for (std::int64_t d = 0; d < kWidth; ++d) {
      const auto k = static_cast<std::size_t>(d);
      relevant.push_back(at(h_v, i, d) * gate[k] * z[static_cast<std::size_t>(i * kWidth + d)]);
    }
    return relevant;
  }

  std::vector<double> naive_recency() const {
    std::vector<double> times;
    for (std::int64_t row = 0; row < kNegatives; ++row) {
      const std::vector<double> a = naive_time2vec(at(met, row));
      const std::vector<double> b = naive_time2vec(at(seen, row));
      for (std::size_t d = 0; d < a.size(); ++d) times.push_back(a[d] + b[d]);
    }
    return naive_normalise(times);
  }

  torch::Tensor positive() const { return factors->positive(h_u, h_v, now).relevant; }
  torch::Tensor negative() const {
    return factors
        ->negative(factors->positive(h_u, h_v, now), owner, h_n, factors->recency(met, seen))
        .relevant;
  }
  std::vector<torch::Tensor> parameters(const std::string& part) const {
    std::vector<torch::Tensor> found;
    for (const auto& item : factors->named_parameters()) {
      if (item.key().find(part) != std::string::npos) found.push_back(item.value());
    }
    return found;
  }

  std::shared_ptr<Factors> factors = randomised(
      std::make_shared<Factors>(Factors::Options{.width = kWidth, .time2vec_width = 3}), 50);
  torch::Tensor h_u = leaf(60, {kPositives, kWidth});
  torch::Tensor h_v = leaf(61, {kPositives, kWidth});
  torch::Tensor h_n = leaf(62, {kNegatives, kWidth});
  torch::Tensor now = numbers(63, {kPositives});
  torch::Tensor met = numbers(64, {kNegatives});
  torch::Tensor seen = numbers(65, {kNegatives});
  torch::Tensor owner = torch::tensor({2, 0, 2, 1, 0}, torch::kInt64);
};

TEST_F(FactorsTest, PositiveMatchesLoops) {
  const torch::Tensor found = positive();
  for (std::int64_t i = 0; i < kPositives; ++i) expect_values(found[i], naive_positive(i));
}

TEST_F(FactorsTest, RecencyMatchesLoops) {
  expect_values(factors->recency(met, seen), naive_recency());
}

TEST_F(FactorsTest, NegativeMatchesLoops) {
  const torch::Tensor found = negative();
  const std::vector<double> recency = naive_recency();
  for (std::int64_t n = 0; n < kNegatives; ++n) {
    const std::vector<double> gate =
        naive_gate(*factors, "negative_gate.", naive_positive(owner[n].item<std::int64_t>()),
                   to_vector(h_n[n]));
    std::vector<double> expected;
    for (std::int64_t d = 0; d < kWidth; ++d) {
      expected.push_back(at(h_n, n, d) * gate[static_cast<std::size_t>(d)] *
                         recency[static_cast<std::size_t>(n * kWidth + d)]);
    }
    expect_values(found[n], expected);
  }
}

TEST_F(FactorsTest, PositiveGradientsMatchFiniteDifferences) {
  const auto f = [&] { return mixed(positive()); };
  expect_gradients({h_u, h_v}, f);
  expect_gradients(parameters("positive_gate"), f);
  expect_gradients(parameters("time2vec"), f);
}

TEST_F(FactorsTest, RecencyGradientsMatchFiniteDifferences) {
  expect_gradients(parameters("time2vec"), [&] { return mixed(factors->recency(met, seen)); });
}

TEST_F(FactorsTest, NegativeGradientsMatchFiniteDifferences) {
  const auto f = [&] { return mixed(negative()); };
  expect_gradients({h_u, h_v, h_n}, f);
  expect_gradients(parameters(""), f);
}

// The released program gates a candidate with the factors of another positive; here another
// embedding of positive 1 reaches the candidates that it owns, and no others.
TEST_F(FactorsTest, ACandidateIsGatedByItsOwnPositive) {
  const torch::NoGradGuard no_grad;
  for (std::int64_t changed = 0; changed < kPositives; ++changed) {
    const torch::Tensor before = negative();
    h_v[changed] += 1;
    const torch::Tensor after = negative();
    for (std::int64_t n = 0; n < kNegatives; ++n) {
      EXPECT_EQ(torch::equal(before[n], after[n]), owner[n].item<std::int64_t>() != changed)
          << "candidate " << n << ", positive " << changed;
    }
  }
}

// Everything above is double and so on the plain path; the kernels are float.
TEST(FactorPathsTest, FastAndPlainAgree) {
  for (const bool temporal : {true, false}) {
    const torch::Tensor relevant = numbers(66, {kPositives, kWidth}).to(torch::kFloat32);
    const torch::Tensor h = numbers(67, {kNegatives, kWidth}).to(torch::kFloat32);
    const torch::Tensor owner = torch::tensor({2, 0, 2, 1, 0}, torch::kInt64);
    const torch::Tensor met = numbers(68, {kNegatives});
    std::vector<torch::Tensor> results;  // of the fast, then of the plain path
    std::vector<std::vector<torch::Tensor>> gradients;
    for (const Path path : {Path::kFast, Path::kPlain}) {
      Factors factors({.width = kWidth, .time2vec_width = 3, .temporal = temporal, .path = path});
      initialise(factors, Rng(51, Stream::kTest));
      std::vector<torch::Tensor> leaves = {relevant.clone().requires_grad_(true),
                                           h.clone().requires_grad_(true)};
      const Factor found =
          factors.negative({.relevant = leaves[0]}, owner, leaves[1], factors.recency(met, met));
      mixed(found.relevant.to(torch::kFloat64)).backward();
      results.push_back(torch::cat({found.relevant.detach(), found.gate.detach()}));
      gradients.emplace_back();
      for (const auto& item : factors.named_parameters()) {
        if (item.key().find("positive_gate") == 0) continue;
        leaves.push_back(item.value());
      }
      for (const torch::Tensor& x : leaves) gradients.back().push_back(x.grad());
    }
    EXPECT_TRUE(torch::allclose(results[0], results[1], 1e-5, 1e-6));
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
      EXPECT_TRUE(torch::allclose(gradients[0][i], gradients[1][i], 1e-4, 1e-5)) << i;
    }
  }
}

// W_d = 2, b_d = 3: whole 5 gives 13, its part 1 gives 5, and the rest 4 gives 11.
TEST(IrrelevantFactorTest, LiteralValues) {
  LinkFunction link;
  link.destination_weight = column({2});
  link.destination_bias = doubles({3});
  expect_values(link.destination(column({5})), {13});
  expect_values(link.rest(link.destination(column({5})), link.destination(column({1}))), {11});
}

class LinkFunctionTest : public ::testing::Test {
 protected:
  torch::Tensor rest() const { return link.rest(link.destination(whole), link.destination(part)); }

  LinkFunction link{leaf(70, {kWidth, kWidth}), leaf(71, {kWidth}),    leaf(72, {kWidth, kWidth}),
                    leaf(73, {kWidth}),         leaf(74, {1, kWidth}), leaf(75, {1})};
  torch::Tensor whole = leaf(76, {kPositives, kWidth});
  torch::Tensor part = leaf(77, {kPositives, kWidth});
};

TEST_F(LinkFunctionTest, RestMatchesLoops) {
  const torch::Tensor found = rest();
  for (std::int64_t n = 0; n < kPositives; ++n) {
    std::vector<double> expected;
    for (std::int64_t d = 0; d < kWidth; ++d) {
      double sum = at(link.destination_bias, d);
      for (std::int64_t k = 0; k < kWidth; ++k) {
        sum += at(link.destination_weight, d, k) * (at(whole, n, k) - at(part, n, k));
      }
      expected.push_back(sum);
    }
    expect_values(found[n], expected);
  }
}

TEST_F(LinkFunctionTest, RestGradientsMatchFiniteDifferences) {
  expect_gradients({whole, part, link.destination_weight, link.destination_bias},
                   [&] { return mixed(rest()); });
}

TEST_F(LinkFunctionTest, DetachedIsTheSameFunctionWithoutGradients) {
  const LinkFunction fixed = link.detached();
  const auto logits = [&](const LinkFunction& f) {
    return f.logit(f.source(whole), f.destination(part));
  };
  EXPECT_TRUE(torch::equal(logits(link), logits(fixed)));
  mixed(logits(fixed)).backward();
  EXPECT_TRUE(whole.grad().defined());
  for (const torch::Tensor& weight : {link.source_weight, link.source_bias, link.destination_weight,
                                      link.destination_bias, link.out_weight, link.out_bias}) {
    EXPECT_FALSE(weight.grad().defined());
  }
}

FactorLogits one_candidate(double positive_r, double positive_ir, double negative_r,
                           double negative_ir) {
  return {doubles({positive_r}), doubles({positive_ir}), doubles({negative_r}),
          doubles({negative_ir})};
}

/// Wide enough apart that no finite difference crosses a corner of |x|.
FactorLogits random_logits(bool with_gradients = false) {
  FactorLogits logits{3 * numbers(80, {kNegatives}), 3 * numbers(81, {kNegatives}),
                      3 * numbers(82, {kNegatives}), 3 * numbers(83, {kNegatives})};
  for (torch::Tensor* x : {&logits.positive_relevant, &logits.positive_irrelevant,
                           &logits.negative_relevant, &logits.negative_irrelevant}) {
    x->requires_grad_(with_gradients);
  }
  return logits;
}

std::vector<torch::Tensor> leaves(const FactorLogits& logits) {
  return {logits.positive_relevant, logits.positive_irrelevant, logits.negative_relevant,
          logits.negative_irrelevant};
}

// Distances of 3 between the relevant, of 1/2 between the irrelevant factors.
TEST(ClosenessTest, LiteralValues) {
  expect_values(closeness(one_candidate(2, 1, -1, 0.5), 0.25), {-0.25 * 3 - 1.75 * 0.5});
  expect_values(closeness(one_candidate(-1, 0.5, 2, 1), 0.25), {-0.25 * 3 - 1.75 * 0.5});
  expect_values(closeness(one_candidate(2, 1, -1, 0.5), 0), {-1});
  expect_values(closeness(one_candidate(2, 1, -1, 0.5), 1), {-3.5});
  expect_values(closeness(one_candidate(2, 1, 2, 1), 0.5), {0});
}

TEST(ClosenessTest, MatchesLoops) {
  const FactorLogits logits = random_logits();
  std::vector<double> expected;
  for (std::int64_t n = 0; n < kNegatives; ++n) {
    expected.push_back(
        -0.3 * std::abs(at(logits.positive_relevant, n) - at(logits.negative_relevant, n)) -
        1.7 * std::abs(at(logits.positive_irrelevant, n) - at(logits.negative_irrelevant, n)));
  }
  expect_values(closeness(logits, 0.3), expected);
}

TEST(ClosenessTest, GradientsMatchFiniteDifferences) {
  const FactorLogits logits = random_logits(/*with_gradients=*/true);
  expect_gradients(leaves(logits), [&] { return mixed(closeness(logits, 0.3)); });
}

// Probabilities 3/4, 1/2, 1/4, 1/2: differences 1/4, 1/2, 1/4, 0; of logits ln 3, 2 ln 3, ln 3, 0,
// whose -log sigmoid are ln(4/3), ln(10/9), ln(4/3), ln 2.
TEST(ContrastiveLossTest, LiteralValues) {
  const double ln3 = std::log(3.0);
  const FactorLogits logits = one_candidate(ln3, 0, -ln3, 0);
  expect_values(contrastive_loss(logits, "raw"), {-1});
  expect_values(contrastive_loss(logits, "logsigmoid"), {0.34346796}, 1e-7);
  expect_values(contrastive_loss(one_candidate(0, 0, 0, 0), "raw"), {0});
  expect_values(contrastive_loss(one_candidate(0, 0, 0, 0), "logsigmoid"), {std::log(2.0)});
}

TEST(ContrastiveLossTest, MatchesLoops) {
  const FactorLogits logits = random_logits();
  for (const bool raw : {false, true}) {
    double sum = 0;
    for (std::int64_t n = 0; n < kNegatives; ++n) {
      const auto score = [&](const torch::Tensor& x) { return raw ? sigmoid(at(x, n)) : at(x, n); };
      const double positive_r = score(logits.positive_relevant);
      const double positive_ir = score(logits.positive_irrelevant);
      const double negative_r = score(logits.negative_relevant);
      const double negative_ir = score(logits.negative_irrelevant);
      for (const double difference : {positive_r - positive_ir, positive_r - negative_r,
                                      negative_ir - negative_r, negative_ir - positive_ir}) {
        sum += raw ? -difference : -std::log(sigmoid(difference)) / 4;
      }
    }
    expect_values(contrastive_loss(logits, raw ? "raw" : "logsigmoid"),
                  {sum / static_cast<double>(kNegatives)});
  }
}

TEST(ContrastiveLossTest, GradientsMatchFiniteDifferences) {
  const FactorLogits logits = random_logits(/*with_gradients=*/true);
  for (const char* kind : {"logsigmoid", "raw"}) {
    expect_gradients(leaves(logits), [&] { return contrastive_loss(logits, kind); });
  }
}

TEST(ContrastiveLossTest, StaysFiniteForExtremeLogits) {
  const FactorLogits logits = one_candidate(-1e4, 1e4, 1e4, -1e4);
  expect_values(contrastive_loss(logits, "logsigmoid"), {2e4 * 4 / 4}, 1e-6);
  expect_values(contrastive_loss(logits, "raw"), {4});
}

TEST(SquaredNormTest, LiteralValues) {
  expect_values(squared_norm({doubles({1, 2}), column({3})}), {14});
  expect_values(squared_norm({torch::full({2, 2}, 0.5F), doubles({2})}), {5});
}

TEST(SquaredNormTest, MatchesLoops) {
  const torch::Tensor a = numbers(90, {3, 4});
  const torch::Tensor b = numbers(91, {5});
  double sum = 0;
  for (const torch::Tensor& x : {a, b}) {
    for (double value : to_vector(x)) sum += value * value;
  }
  expect_values(squared_norm({a, b}), {sum}, 1e-5);
}

// A quadratic has exact differences for any step; a large one drowns the rounding of the sum,
// which is float.
TEST(SquaredNormTest, GradientsMatchFiniteDifferences) {
  const torch::Tensor a = leaf(92, {2, 3});
  const torch::Tensor b = leaf(93, {4});
  for (const torch::Tensor& x : {a, b}) {
    expect_gradient(
        x,
        [&] {
          return squared_norm({a, b}, Path::kPlain);
        },
        /*step=*/0.5);
  }
}

LossParts parts_of(const torch::Tensor& x) { return {x[0], x[1], x[2], x[3], x[4]}; }

// 1 + 0.25·2 + 0.75·4 + 0.5·8 + 0.125·16
TEST(TotalLossTest, LiteralValues) {
  const LossParts parts = parts_of(doubles({1, 2, 4, 8, 16}));
  expect_values(total_loss(parts, /*delta=*/0.25, /*lambda=*/0.5, /*mu=*/0.125), {10.5});
  expect_values(total_loss(parts, 1, 0, 0), {3});
  expect_values(total_loss(parts, 0, 0, 0), {5});
}

TEST(TotalLossTest, MatchesLoops) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<double> x = to_vector(numbers(100 + seed, {5}));
    const std::vector<double> c = to_vector(numbers(200 + seed, {3}));
    expect_values(total_loss(parts_of(doubles(x)), c[0], c[1], c[2]),
                  {x[0] + c[0] * x[1] + x[2] - c[0] * x[2] + c[1] * x[3] + c[2] * x[4]});
  }
}

TEST(TotalLossTest, GradientsMatchFiniteDifferences) {
  const torch::Tensor x = leaf(94, {5});
  expect_gradient(x, [&] { return total_loss(parts_of(x), 0.3, 0.7, 0.1); });
}

}  // namespace
}  // namespace curnm
