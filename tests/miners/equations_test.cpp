#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "curnm/miners/curnm/factors.h"
#include "curnm/miners/curnm/objective.h"
#include "curnm/nn/adam.h"
#include "curnm/nn/tensors.h"
#include "support/gradients.h"
#include "support/tensors.h"

// Every equation about embeddings and scores three times: values computed by hand, plain loops on
// random input, finite differences.

namespace curnm {
namespace {

using testing::expect_gradient;
using testing::to_double;

constexpr std::int64_t kPositives = 3;
constexpr std::int64_t kNegatives = 5;
constexpr std::int64_t kWidth = 4;

/// Random numbers, double: so are the modules here, since finite differences need it.
Tensor numbers(std::uint64_t seed, std::vector<std::int64_t> shape) {
  Tensor x = at::empty(shape);
  keyed_uniform_(x, 1, Rng(seed, Stream::kTest));
  return x.to(at::kDouble);
}

Tensor leaf(std::uint64_t seed, std::vector<std::int64_t> shape) {
  return numbers(seed, std::move(shape)).requires_grad_(true);
}

Tensor doubles(std::vector<double> values) { return at::tensor(values, at::kDouble); }

Tensor column(std::vector<double> values) { return doubles(std::move(values)).view({-1, 1}); }

double at(const Tensor& x, std::int64_t i) { return x[i].item<double>(); }
double at(const Tensor& x, std::int64_t i, std::int64_t j) { return x[i][j].item<double>(); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void expect_values(const Tensor& actual, const std::vector<double>& expected,
                   double tolerance = 1e-12) {
  const Tensor flat = actual.reshape(-1);
  ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(at(flat, static_cast<std::int64_t>(i)), expected[i], tolerance) << "entry " << i;
  }
}

/// Gives a parameter values written by hand.
void set(Module& module, const std::string& name, const std::vector<double>& values) {
  const NoGradGuard no_grad;
  const Tensor parameter = module.named_parameters()[name];
  parameter.copy_(doubles(values).view(parameter.sizes()));
}

/// Random double parameters, all of them: also those that start at zero.
template <class M>
std::shared_ptr<M> randomised(std::shared_ptr<M> module, std::uint64_t seed) {
  to_double(*module);
  for (const Tensor& parameter : module->parameters()) {
    keyed_uniform_(parameter, 1, Rng(seed++, Stream::kTest));
  }
  return module;
}

/// A scalar that depends on every entry in its own way.
Tensor mixed(const Tensor& x) { return (x * numbers(99, x.sizes().vec())).sum(); }

void expect_gradients(const std::vector<Tensor>& leaves, const std::function<Tensor()>& f) {
  for (const Tensor& x : leaves) expect_gradient(x, f);
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

std::vector<double> to_vector(const Tensor& x) {
  const Tensor flat = x.detach().contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

TEST(NormaliseTest, LiteralValues) {
  expect_values(normalise(doubles({1, 3})), {0, 2});
  const double root = std::sqrt(3.0);
  expect_values(normalise(doubles({0, 0, 0, 4}).view({2, 2})),
                {1 - 1 / root, 1 - 1 / root, 1 - 1 / root, 1 + root});
}

TEST(NormaliseTest, IsOneWhereAllIsTheSame) {
  expect_values(normalise(at::zeros({3, 2}, at::kDouble)), std::vector<double>(6, 1));
  // In float, the mean of equal numbers need not be that number.
  for (const float value : {0.1F, 0.3F, 1e-3F, 7.7F, -123.4F}) {
    for (const std::int64_t count : {2, 7, 100, 1001}) {
      const Tensor z = normalise(at::full({count}, value));
      EXPECT_LT((z - 1).abs().max().item<float>(), 1e-3) << count << " times " << value;
    }
  }
}

TEST(NormaliseTest, MatchesLoops) {
  const Tensor x = 5 * numbers(1, {4, 3}) + 2;
  expect_values(normalise(x), naive_normalise(to_vector(x)));
}

TEST(NormaliseTest, GradientsMatchFiniteDifferences) {
  const Tensor x = leaf(2, {4, 3});
  expect_gradient(x, [&] { return mixed(normalise(x)); });
}

// A gradient of 1e12 is finite, but Adam would not forget it for tens of thousands of steps.
TEST(NormaliseTest, WhereAllIsTheSameTheGradientStaysModest) {
  const Tensor x = at::zeros({3, 2}, at::kDouble).requires_grad_(true);
  const Tensor y = mixed(normalise(x));
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
  to_double(encoding);
  set(encoding, "out.weight", {2, 3, 5});
  set(encoding, "out.bias", {0.5});
  expect_values(encoding.forward(doubles({0.25, 0.0625})), {4, 5.625 + 3 * 0.3826834323650898});
  set(encoding, "phase", {1, 0, std::numbers::pi / 2});
  expect_values(encoding.forward(doubles({0.25})), {2 * 1.25 + 3 + 5 + 0.5});
}

TEST(Time2VecTest, MatchesLoops) {
  const auto encoding = randomised(std::make_shared<Time2Vec>(5, 3, 0.1), 10);
  const auto p = encoding->named_parameters();
  const Tensor t = numbers(20, {4});
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
  const Tensor t = numbers(21, {5});
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

Tensor opened(Gate& gate, const Tensor& context, const Tensor& h) {
  return at::sigmoid(gate.context(context) + gate.own(h));
}

TEST(GateTest, LiteralValues) {
  Gate gate(1);
  to_double(gate);
  set(gate, "context.weight", {2});
  set(gate, "own.weight", {-1});
  set(gate, "own.bias", {0.5});
  // 2·1 - 3 + 0.5 = -0.5 and 2·0 - 0 + 0.5 = 0.5
  expect_values(opened(gate, column({1, 0}), column({3, 0})),
                {0.3775406687981454, 0.6224593312018546});
}

/// sigmoid(W [context ‖ h] + b) of one row, with the two halves of W.
std::vector<double> naive_gate(const Module& module, const std::string& prefix,
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
  const Tensor context = numbers(40, {kPositives, kWidth});
  const Tensor h = numbers(41, {kPositives, kWidth});
  const Tensor found = opened(*gate, context, h);
  for (std::int64_t n = 0; n < kPositives; ++n) {
    expect_values(found[n], naive_gate(*gate, "", to_vector(context[n]), to_vector(h[n])));
  }
}

TEST(GateTest, GradientsMatchFiniteDifferences) {
  const auto gate = randomised(std::make_shared<Gate>(kWidth), 31);
  const Tensor context = leaf(42, {kPositives, kWidth});
  const Tensor h = leaf(43, {kPositives, kWidth});
  const auto f = [&] { return mixed(opened(*gate, context, h)); };
  expect_gradients({context, h}, f);
  expect_gradients(gate->parameters(), f);
}

/// Width 1, gates as told, and a Time2Vec that is the time itself.
std::shared_ptr<Factors> plain_factors(bool temporal) {
  const auto made = std::make_shared<Factors>(
      Factors::Options{.width = 1, .time2vec_width = 2, .temporal = temporal});
  Factors& factors = *made;
  to_double(factors);
  for (const char* gate : {"positive_gate", "negative_gate"}) {
    for (const char* part : {".context.weight", ".own.weight", ".own.bias"}) {
      set(factors, std::string(gate) + part, {0});
    }
  }
  if (temporal) {
    set(factors, "time2vec.out.weight", {1, 0});
    set(factors, "time2vec.out.bias", {0});
  }
  return made;
}

// Gates of 1/2 and sigmoid(ln 3) = 3/4; z of the times 0 and 1 is 0 and 2.
TEST(PositiveFactorTest, LiteralValues) {
  const auto made = plain_factors(/*temporal=*/true);
  Factors& factors = *made;
  set(factors, "positive_gate.context.weight", {std::log(3.0)});
  const Factor factor = factors.positive(column({0, 1}), column({2, 4}), doubles({0, 1}));
  expect_values(factor.gate, {0.5, 0.75});
  expect_values(factor.relevant, {0, 6});

  const auto timeless = plain_factors(/*temporal=*/false);
  expect_values(timeless->positive(column({0, 1}), column({2, 4}), doubles({0, 1})).relevant,
                {1, 2});
}

// t2v(met) + t2v(seen) is 1 and 2, of which z is 0 and 2.
TEST(RecencyTest, LiteralValues) {
  const auto made = plain_factors(/*temporal=*/true);
  Factors& factors = *made;
  expect_values(factors.recency(doubles({0, 1}), doubles({1, 1})), {0, 2});
  EXPECT_FALSE(plain_factors(/*temporal=*/false)->recency(doubles({0}), doubles({1})).defined());
}

// Gates sigmoid(0) and sigmoid(ln 3) of the positives' factors, picked by owner.
TEST(NegativeFactorTest, LiteralValues) {
  const auto made = plain_factors(/*temporal=*/true);
  Factors& factors = *made;
  set(factors, "negative_gate.context.weight", {1});
  const Factor positive{.relevant = column({0, std::log(3.0)}), .gate = column({1, 1})};
  const Tensor owner = at::tensor({1, 0, 1}, at::kLong);
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

  Tensor positive() const { return factors->positive(h_u, h_v, now).relevant; }
  Tensor negative() const {
    return factors
        ->negative(factors->positive(h_u, h_v, now), owner, h_n, factors->recency(met, seen))
        .relevant;
  }
  std::vector<Tensor> parameters(const std::string& part) const {
    std::vector<Tensor> found;
    for (const auto& item : factors->named_parameters()) {
      if (item.key().find(part) != std::string::npos) found.push_back(item.value());
    }
    return found;
  }

  std::shared_ptr<Factors> factors = randomised(
      std::make_shared<Factors>(Factors::Options{.width = kWidth, .time2vec_width = 3}), 50);
  Tensor h_u = leaf(60, {kPositives, kWidth});
  Tensor h_v = leaf(61, {kPositives, kWidth});
  Tensor h_n = leaf(62, {kNegatives, kWidth});
  Tensor now = numbers(63, {kPositives});
  Tensor met = numbers(64, {kNegatives});
  Tensor seen = numbers(65, {kNegatives});
  Tensor owner = at::tensor({2, 0, 2, 1, 0}, at::kLong);
};

TEST_F(FactorsTest, PositiveMatchesLoops) {
  const Tensor found = positive();
  for (std::int64_t i = 0; i < kPositives; ++i) expect_values(found[i], naive_positive(i));
}

TEST_F(FactorsTest, RecencyMatchesLoops) {
  expect_values(factors->recency(met, seen), naive_recency());
}

TEST_F(FactorsTest, NegativeMatchesLoops) {
  const Tensor found = negative();
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
  const NoGradGuard no_grad;
  for (std::int64_t changed = 0; changed < kPositives; ++changed) {
    const Tensor before = negative();
    h_v[changed] += 1;
    const Tensor after = negative();
    for (std::int64_t n = 0; n < kNegatives; ++n) {
      EXPECT_EQ(at::equal(before[n], after[n]), owner[n].item<std::int64_t>() != changed)
          << "candidate " << n << ", positive " << changed;
    }
  }
}

// Everything above is double and so on the plain path; the kernels are float.
TEST(FactorPathsTest, FastAndPlainAgree) {
  for (const bool temporal : {true, false}) {
    const Tensor relevant = numbers(66, {kPositives, kWidth}).to(at::kFloat);
    const Tensor h = numbers(67, {kNegatives, kWidth}).to(at::kFloat);
    const Tensor owner = at::tensor({2, 0, 2, 1, 0}, at::kLong);
    const Tensor met = numbers(68, {kNegatives});
    std::vector<Tensor> results;  // of the fast, then of the plain path
    std::vector<std::vector<Tensor>> gradients;
    for (const Path path : {Path::kFast, Path::kPlain}) {
      Factors factors({.width = kWidth, .time2vec_width = 3, .temporal = temporal, .path = path});
      initialise(factors, Rng(51, Stream::kTest));
      std::vector<Tensor> leaves = {relevant.clone().requires_grad_(true),
                                    h.clone().requires_grad_(true)};
      const Factor found =
          factors.negative({.relevant = leaves[0]}, owner, leaves[1], factors.recency(met, met));
      mixed(found.relevant.to(at::kDouble)).backward();
      results.push_back(at::cat({found.relevant.detach(), found.gate.detach()}));
      gradients.emplace_back();
      for (const auto& item : factors.named_parameters()) {
        if (item.key().find("positive_gate") == 0) continue;
        leaves.push_back(item.value());
      }
      for (const Tensor& x : leaves) gradients.back().push_back(x.grad());
    }
    EXPECT_TRUE(at::allclose(results[0], results[1], 1e-5, 1e-6));
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
      EXPECT_TRUE(at::allclose(gradients[0][i], gradients[1][i], 1e-4, 1e-5)) << i;
    }
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
  for (Tensor* x : {&logits.positive_relevant, &logits.positive_irrelevant,
                    &logits.negative_relevant, &logits.negative_irrelevant}) {
    x->requires_grad_(with_gradients);
  }
  return logits;
}

std::vector<Tensor> leaves(const FactorLogits& logits) {
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

// Probabilities 3/4 and 1/4 of the relevant, 1/2 and 3/4 of the irrelevant factors.
TEST(ClosenessTest, LiteralValuesOfProbabilities) {
  const double ln3 = std::log(3.0);
  const auto of = [](const FactorLogits& logits, double beta) {
    return closeness(logits, beta, FactorScores::kProbabilities);
  };
  expect_values(of(one_candidate(ln3, 0, -ln3, ln3), 0.25), {-0.25 * 0.5 - 1.75 * 0.25});
  expect_values(of(one_candidate(-ln3, ln3, ln3, 0), 0.25), {-0.25 * 0.5 - 1.75 * 0.25});
  expect_values(of(one_candidate(ln3, 0, -ln3, ln3), 0), {-0.5});
  expect_values(of(one_candidate(ln3, 0, -ln3, ln3), 1), {-0.75});
  expect_values(of(one_candidate(2, 1, 2, 1), 0.5), {0});
  expect_values(of(one_candidate(800, 800, 900, 900), 0.5), {0});
}

TEST(ClosenessTest, MatchesLoops) {
  const FactorLogits logits = random_logits();
  for (const FactorScores kind : {FactorScores::kLogits, FactorScores::kProbabilities}) {
    std::vector<double> expected;
    for (std::int64_t n = 0; n < kNegatives; ++n) {
      const auto score = [&](const Tensor& x) {
        return kind == FactorScores::kLogits ? at(x, n) : sigmoid(at(x, n));
      };
      expected.push_back(
          -0.3 * std::abs(score(logits.positive_relevant) - score(logits.negative_relevant)) -
          1.7 * std::abs(score(logits.positive_irrelevant) - score(logits.negative_irrelevant)));
    }
    expect_values(closeness(logits, 0.3, kind), expected);
  }
  EXPECT_TRUE(at::equal(closeness(logits, 0.3), closeness(logits, 0.3, FactorScores::kLogits)));
}

TEST(ClosenessTest, GradientsMatchFiniteDifferences) {
  for (const FactorScores kind : {FactorScores::kLogits, FactorScores::kProbabilities}) {
    const FactorLogits logits = random_logits(/*with_gradients=*/true);
    expect_gradients(leaves(logits), [&] { return mixed(closeness(logits, 0.3, kind)); });
  }
}

// Probabilities 3/4, 1/2, 1/4, 1/2: differences 1/4, 1/2, 1/4, 0; of logits ln 3, 2 ln 3, ln 3, 0,
// whose -log sigmoid are ln(4/3), ln(10/9), ln(4/3), ln 2.
TEST(ContrastiveLossTest, LiteralValues) {
  const double ln3 = std::log(3.0);
  const FactorLogits logits = one_candidate(ln3, 0, -ln3, 0);
  expect_values(contrastive_loss(logits, Contrast::kRaw), {-1});
  expect_values(contrastive_loss(logits, Contrast::kLogSigmoid), {0.34346796}, 1e-7);
  expect_values(contrastive_loss(one_candidate(0, 0, 0, 0), Contrast::kRaw), {0});
  expect_values(contrastive_loss(one_candidate(0, 0, 0, 0), Contrast::kLogSigmoid),
                {std::log(2.0)});
}

TEST(ContrastiveLossTest, MatchesLoops) {
  const FactorLogits logits = random_logits();
  for (const bool raw : {false, true}) {
    double sum = 0;
    for (std::int64_t n = 0; n < kNegatives; ++n) {
      const auto score = [&](const Tensor& x) { return raw ? sigmoid(at(x, n)) : at(x, n); };
      const double positive_r = score(logits.positive_relevant);
      const double positive_ir = score(logits.positive_irrelevant);
      const double negative_r = score(logits.negative_relevant);
      const double negative_ir = score(logits.negative_irrelevant);
      for (const double difference : {positive_r - positive_ir, positive_r - negative_r,
                                      negative_ir - negative_r, negative_ir - positive_ir}) {
        sum += raw ? -difference : -std::log(sigmoid(difference)) / 4;
      }
    }
    expect_values(contrastive_loss(logits, raw ? Contrast::kRaw : Contrast::kLogSigmoid),
                  {sum / static_cast<double>(kNegatives)});
  }
}

TEST(ContrastiveLossTest, GradientsMatchFiniteDifferences) {
  const FactorLogits logits = random_logits(/*with_gradients=*/true);
  for (const Contrast kind : {Contrast::kLogSigmoid, Contrast::kRaw}) {
    expect_gradients(leaves(logits), [&] { return contrastive_loss(logits, kind); });
  }
}

TEST(ContrastiveLossTest, StaysFiniteForExtremeLogits) {
  const FactorLogits logits = one_candidate(-1e4, 1e4, 1e4, -1e4);
  expect_values(contrastive_loss(logits, Contrast::kLogSigmoid), {2e4 * 4 / 4}, 1e-6);
  expect_values(contrastive_loss(logits, Contrast::kRaw), {4});
}

/// Adam's running mean of gradients, over its rate: after one step, the gradient that it followed.
Tensor followed(const Adam& adam, std::size_t parameter) {
  return adam.state().at(1 + parameter) / (1 - AdamOptions{}.beta1);
}

// A loss with gradient 1 at 3: mu |Theta|^2 adds 2·0.5·3. The second parameter is none of Theta.
TEST(WeightDecayTest, LiteralValues) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    const Tensor a = at::full({1}, 3.0F).requires_grad_(true);
    const Tensor b = at::full({1}, 3.0F).requires_grad_(true);
    Adam adam({a, b}, {.weight_decay = 0.5, .decaying = 1, .path = path});
    (a + b).sum().backward();
    adam.step();
    expect_values(followed(adam, 0), {4}, 1e-6);
    expect_values(followed(adam, 1), {1}, 1e-6);
  }
}

// Ten steps of Adam along g + 2 mu Theta, one number at a time.
TEST(WeightDecayTest, MatchesLoops) {
  constexpr double kRate = 0.05;
  constexpr double kMu = 0.3;
  for (const Path path : {Path::kFast, Path::kPlain}) {
    for (const bool decays : {true, false}) {
      const Tensor x = numbers(90, {7}).to(at::kFloat).requires_grad_(true);
      std::vector<double> theta = to_vector(x.detach().to(at::kDouble));
      Adam adam({x}, {.learning_rate = kRate,
                      .weight_decay = kMu,
                      .decaying = decays ? 1U : 0U,
                      .path = path});
      std::vector<double> mean(7);
      std::vector<double> square(7);
      for (int step = 1; step <= 10; ++step) {
        const Tensor g = numbers(90 + static_cast<std::uint64_t>(step), {7});
        adam.zero_grad();
        (x * g.to(at::kFloat)).sum().backward();
        adam.step();
        for (std::size_t i = 0; i < theta.size(); ++i) {
          const double gradient =
              at(g, static_cast<std::int64_t>(i)) + (decays ? 2 * kMu * theta[i] : 0);
          mean[i] = 0.9 * mean[i] + 0.1 * gradient;
          square[i] = 0.999 * square[i] + 0.001 * gradient * gradient;
          theta[i] -= kRate * mean[i] / (1 - std::pow(0.9, step)) /
                      (std::sqrt(square[i] / (1 - std::pow(0.999, step))) + 1e-8);
        }
        expect_values(x.detach(), theta, 1e-5);
      }
    }
  }
}

// What Adam follows besides the gradient of the loss is that of mu |Theta|^2.
TEST(WeightDecayTest, GradientsMatchFiniteDifferences) {
  constexpr double kMu = 0.3;
  const Tensor a = leaf(92, {2, 3});
  const Tensor b = leaf(93, {4});
  const Tensor gate = leaf(94, {2});
  Adam adam({a, b, gate},
            {.learning_rate = 0, .weight_decay = kMu, .decaying = 2, .path = Path::kPlain});
  mixed(at::cat({a.view(-1), b, gate}).sin()).backward();
  adam.step();
  const auto squared_norm = [&] { return (a.square().sum() + b.square().sum()).item<double>(); };
  for (std::size_t parameter = 0; parameter < 2; ++parameter) {
    const NoGradGuard no_grad;
    const Tensor& x = parameter == 0 ? a : b;
    const Tensor added = (followed(adam, parameter) - x.grad()).view(-1);
    const Tensor flat = x.view(-1);
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      // A quadratic has exact differences for any step.
      const double before = at(flat, i);
      flat[i] = before + 0.5;
      const double above = squared_norm();
      flat[i] = before - 0.5;
      const double below = squared_norm();
      flat[i] = before;
      EXPECT_NEAR(at(added, i), kMu * (above - below), 1e-9);
    }
  }
  expect_values(followed(adam, 2) - gate.grad(), {0, 0});
}

LossParts parts_of(const Tensor& x) { return {x[0], x[1], x[2], x[3]}; }

// 1 + 0.25·2 + 0.75·4 + 0.5·8
TEST(TotalLossTest, LiteralValues) {
  const LossParts parts = parts_of(doubles({1, 2, 4, 8}));
  expect_values(total_loss(parts, /*delta=*/0.25, /*lambda=*/0.5), {8.5});
  expect_values(total_loss(parts, 1, 0), {3});
  expect_values(total_loss(parts, 0, 0), {5});
}

TEST(TotalLossTest, MatchesLoops) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<double> x = to_vector(numbers(100 + seed, {4}));
    const std::vector<double> c = to_vector(numbers(200 + seed, {2}));
    expect_values(total_loss(parts_of(doubles(x)), c[0], c[1]),
                  {x[0] + c[0] * x[1] + x[2] - c[0] * x[2] + c[1] * x[3]});
  }
}

TEST(TotalLossTest, GradientsMatchFiniteDifferences) {
  const Tensor x = leaf(94, {4});
  expect_gradient(x, [&] { return total_loss(parts_of(x), 0.3, 0.7); });
}

}  // namespace
}  // namespace curnm
