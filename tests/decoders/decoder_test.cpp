#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "curnm/sampling/indices.h"
#include "curnm/sampling/pair_statistics.h"
#include "curnm/sampling/walk_sketch.h"
#include "support/decoders.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/random_log.h"
#include "support/tensors.h"

// What every registered decoder promises, and Eq. (11): a destination in two parts.

namespace curnm {
namespace {

using testing::bilinear;
using testing::copy_parameters;
using testing::expect_gradient;
using testing::fails;
using testing::to_double;
using testing::WithoutSplit;

constexpr std::int64_t kWidth = 4;  // D

Tensor numbers(std::uint64_t seed, std::vector<std::int64_t> shape) {
  Tensor x = at::empty(shape);
  keyed_uniform_(x, 1, Rng(seed, Stream::kTest));
  return x;
}

/// Five positives with two candidates each and three extra pairs. Nodes and times repeat, also as
/// source here and destination there, so that links share roots.
struct LinkScene {
  LinkScene()
      : links({src, dst, time, events}, candidates),
        log(testing::random_log(1, {.nodes = 8, .events = 40, .distinct_times = 3})),
        indices(log) {}

  /// The decoder, told of the past of these nodes.
  std::shared_ptr<Decoder> told(std::shared_ptr<Decoder> decoder) const {
    decoder->use(indices.past());
    decoder->fit({log, links});
    return decoder;
  }

  /// Positives and candidates: the links whose destinations are split.
  std::int64_t split() const { return links.candidates().end(); }

  std::vector<NodeId> src = {0, 0, 1, 2, 3};
  std::vector<NodeId> dst = {2, 3, 2, 0, 3};
  std::vector<Timestamp> time = {1, 1, 1, 2, 2};
  std::vector<EventId> events = {0, 1, 2, 3, 4};
  Candidates candidates = {.width = 2,
                           .nodes = {1, 3, 2, 4, 3, 0, 1, 4, 4, 4},
                           .extra = {.rows = {0, 3, 4}, .src = {5, 1, 3}, .dst = {2, 3, 5}}};
  Links links;
  EventLog log;
  Indices indices;
};

std::shared_ptr<Decoder> made(std::string_view name, Path path = Path::kFast,
                              std::int64_t width = kWidth, std::int64_t outputs = 1) {
  std::shared_ptr<Decoder> decoder =
      make_decoder(name, decoders().at(name).defaults,
                   {.width = width, .outputs = outputs, .seed = 1, .path = path});
  // Biases start at zero, and so would hide a mistake with them.
  std::uint64_t seed = 100;
  for (const Tensor& parameter : decoder->parameters()) {
    if (parameter.dim() == 1) keyed_uniform_(parameter, 0.5, Rng(seed++, Stream::kTest));
  }
  return decoder;
}

std::vector<std::string> names() {
  bilinear();
  std::vector<std::string> all;
  for (const DecoderEntry& entry : decoders()) all.push_back(entry.name);
  return all;
}

Tensor joined(const SplitLogits& logits) {
  return at::cat({logits.whole, logits.part, logits.rest});
}

/// A scalar that depends on every entry in its own way.
Tensor mixed(const Tensor& x) {
  return (x * numbers(99, x.sizes().vec()).to(x.scalar_type())).sum();
}

/// Of one of the links alone, with these embeddings of its ends. [Q]
Tensor logit_of(const Decoder& decoder, const Links& links, std::int64_t link, const Tensor& h_u,
                const Tensor& h_v) {
  const auto only = [&](const auto& values) { return values.subspan(index(link), 1); };
  const Links alone(Pairs{only(links.src()), only(links.dst()), only(links.time())});
  const bool loop = alone.roots().size() == 1;
  const Tensor z = loop ? h_v.view({1, -1}) : at::cat({h_v.view({1, -1}), h_u.view({1, -1})});
  return decoder.logits(alone, z).squeeze(0);
}

struct Case {
  std::string name;
  std::int64_t outputs;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& name : names()) {
    all.push_back({name, 1});
    all.push_back({name, 3});
  }
  return all;
}

class DecoderContract : public ::testing::TestWithParam<Case> {
 protected:
  std::shared_ptr<Decoder> made(Path path) const {
    return scene.told(curnm::made(GetParam().name, path, kWidth, GetParam().outputs));
  }

  const LinkScene scene;
};

TEST_P(DecoderContract, ALinkHasTheSameLogitInAnyCompany) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    const auto decoder = made(path);
    const Tensor z = numbers(1, {scene.links.roots().size(), kWidth});
    const Tensor together = decoder->logits(scene.links, z);
    ASSERT_EQ(together.sizes(), (std::vector{scene.links.size(), decoder->outputs()}));
    for (std::int64_t link = 0; link < scene.links.size(); ++link) {
      const Tensor alone = logit_of(*decoder, scene.links, link, z[scene.links.source_root(link)],
                                    z[scene.links.destination()[static_cast<std::size_t>(link)]]);
      EXPECT_TRUE(at::allclose(together[link], alone, 1e-5, 1e-5)) << link;
    }
  }
}

// By links of their own for every part and every rest.
TEST_P(DecoderContract, SplitMatchesTheLogitsOfPartsAndRests) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    const auto decoder = made(path);
    const Tensor z = numbers(2, {scene.links.roots().size(), kWidth});
    const Tensor parts = numbers(3, {scene.split(), kWidth});
    const SplitLogits found = decoder->split(scene.links, z, parts);
    EXPECT_TRUE(at::allclose(found.whole, decoder->logits(scene.links, z), 1e-5, 1e-6));
    ASSERT_EQ(found.part.sizes(), (std::vector{scene.split(), decoder->outputs()}));
    ASSERT_EQ(found.rest.sizes(), found.part.sizes());
    for (std::int64_t link = 0; link < scene.split(); ++link) {
      if (scene.links.src()[index(link)] == scene.links.dst()[index(link)]) continue;
      const Tensor h_u = z[scene.links.source_root(link)];
      const Tensor h_v = z[scene.links.destination()[static_cast<std::size_t>(link)]];
      const auto expected = [&](const Tensor& in_place) {
        return logit_of(*decoder, scene.links, link, h_u, in_place);
      };
      EXPECT_TRUE(at::allclose(found.part[link], expected(parts[link]), 1e-5, 1e-5));
      EXPECT_TRUE(at::allclose(found.rest[link], expected(h_v - parts[link]), 1e-5, 1e-5));
    }
  }
}

// By links of their own: whatever else a decoder sees, its last parts are the two embeddings.
TEST_P(DecoderContract, EmbeddingsAtTheirMeansAreThoseOfTypicalLinks) {
  const std::vector<NodeId> src = {1, 4, 4};
  const std::vector<NodeId> dst = {4, 2, 4};
  const Links typical(2, src, dst, 8);
  for (const Path path : {Path::kFast, Path::kPlain}) {
    const auto decoder = made(path);
    const Tensor z = numbers(14, {scene.links.roots().size(), kWidth});
    const Tensor typical_z = numbers(15, {typical.roots().size(), kWidth});
    const auto embedding = [&](NodeId node) {
      const auto nodes = typical.roots().nodes;
      return typical_z[std::find(nodes.begin(), nodes.end(), node) - nodes.begin()];
    };
    const Tensor source = (embedding(1) + embedding(4) + embedding(4)) / 3;
    const Tensor destination = (embedding(4) + embedding(2) + embedding(4)) / 3;
    const LogitsAtMeans found = decoder->at_means(scene.links, z, typical, typical_z);
    const std::vector<std::string> parts = decoder->parts();
    ASSERT_EQ(found.parts.size(), parts.size());
    ASSERT_EQ(parts.at(parts.size() - 2), "source");
    ASSERT_EQ(parts.back(), "destination");
    for (std::int64_t link = 0; link < scene.links.size(); ++link) {
      if (scene.links.src()[index(link)] == scene.links.dst()[index(link)]) continue;
      const Tensor h_u = z[scene.links.source_root(link)];
      const Tensor h_v = z[scene.links.destination()[index(link)]];
      EXPECT_TRUE(at::allclose(found.parts[parts.size() - 2][link],
                               logit_of(*decoder, scene.links, link, source, h_v), 1e-5, 1e-5));
      EXPECT_TRUE(at::allclose(found.parts.back()[link],
                               logit_of(*decoder, scene.links, link, h_u, destination), 1e-5,
                               1e-5));
      if (parts.size() > 2) continue;
      EXPECT_TRUE(at::allclose(
          found.all[link], logit_of(*decoder, scene.links, link, source, destination), 1e-5, 1e-5));
    }
  }
}

TEST_P(DecoderContract, GradientsMatchFiniteDifferences) {
  const auto decoder = made(Path::kPlain);
  to_double(*decoder);
  const Tensor z =
      numbers(4, {scene.links.roots().size(), kWidth}).to(at::kDouble).requires_grad_(true);
  const Tensor parts = numbers(5, {scene.split(), kWidth}).to(at::kDouble).requires_grad_(true);
  const auto f = [&] { return mixed(joined(decoder->split(scene.links, z, parts))); };
  expect_gradient(z, f);
  expect_gradient(parts, f);
  for (const Tensor& parameter : decoder->parameters()) expect_gradient(parameter, f);
}

// What the contrastive loss relies on where it trains the gates alone.
TEST_P(DecoderContract, AFrozenDecoderIsTheSameFunctionWithoutGradients) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    const auto decoder = made(path);
    const Tensor z = numbers(6, {scene.links.roots().size(), kWidth});
    const Tensor parts = numbers(7, {scene.split(), kWidth}).requires_grad_(true);
    const Tensor before = joined(decoder->split(scene.links, z, parts));
    Tensor frozen;
    {
      const FrozenScope scope(*decoder);
      frozen = joined(decoder->split(scene.links, z, parts));
    }
    EXPECT_TRUE(at::equal(before, frozen));
    mixed(frozen).backward();
    EXPECT_GT(parts.grad().abs().max().item<double>(), 0);
    for (const auto& item : decoder->named_parameters()) {
      EXPECT_FALSE(item.value().grad().defined()) << item.key();
      EXPECT_TRUE(item.value().requires_grad()) << item.key() << " is free again";
    }
  }
}

TEST_P(DecoderContract, ParametersAreAFunctionOfTheSeed) {
  const auto weights = [&](std::uint64_t seed) {
    std::vector<Tensor> flat;
    const auto decoder =
        make_decoder(GetParam().name, decoders().at(GetParam().name).defaults,
                     {.width = kWidth, .outputs = GetParam().outputs, .seed = seed});
    for (const Tensor& parameter : decoder->parameters()) {
      flat.push_back(parameter.detach().reshape(-1));
    }
    return at::cat(flat);
  };
  EXPECT_TRUE(at::equal(weights(3), weights(3)));
  EXPECT_FALSE(at::equal(weights(3), weights(4)));
}

INSTANTIATE_TEST_SUITE_P(All, DecoderContract, ::testing::ValuesIn(cases()), [](const auto& test) {
  return test.param.name + std::to_string(test.param.outputs);
});

TEST(AdditiveDecoderTest, LogitsMatchLoops) {
  const LinkScene scene;
  for (const Path path : {Path::kFast, Path::kPlain}) {
    const auto decoder = made("additive", path);
    const NamedTensors p = decoder->named_parameters();
    const Tensor z = numbers(8, {scene.links.roots().size(), kWidth});
    const Tensor found = decoder->logits(scene.links, z);
    const auto at = [](const Tensor& x, std::int64_t i, std::int64_t j) {
      return x[i][j].item<double>();
    };
    for (std::int64_t link = 0; link < scene.links.size(); ++link) {
      const Tensor h_u = z[scene.links.source_root(link)].unsqueeze(0);
      const Tensor h_v = z[scene.links.destination()[static_cast<std::size_t>(link)]].unsqueeze(0);
      double logit = p["out.bias"][0].item<double>();
      for (std::int64_t d = 0; d < kWidth; ++d) {
        double hidden =
            p["source.bias"][d].item<double>() + p["destination.bias"][d].item<double>();
        for (std::int64_t k = 0; k < kWidth; ++k) {
          hidden += at(p["source.weight"], d, k) * at(h_u, 0, k) +
                    at(p["destination.weight"], d, k) * at(h_v, 0, k);
        }
        logit += at(p["out.weight"], 0, d) * std::max(hidden, 0.0);
      }
      EXPECT_NEAR(found[link].item<double>(), logit, 1e-5) << link;
    }
  }
}

/// What the decoder `pair` sees, by loops over its weights.
class NaivePair {
 public:
  explicit NaivePair(const Decoder& decoder) : p_(decoder.named_weights()) {}

  /// Of one link: its standardised statistics, its walks (none without a sketch), embeddings.
  double logit(std::span<const double> x, std::span<const double> walks, const Tensor& h_u,
               const Tensor& h_v) const {
    std::vector<double> sum = map("source", of(h_u));
    add(sum, map("pair", x));
    add(sum, map("destination", of(h_v)));
    if (!walks.empty()) add(sum, map("walk", walks));
    rectify(sum);
    sum = map("hidden", sum);
    rectify(sum);
    return map("out", sum)[0];
  }
  std::vector<double> standardised(std::span<const float> row) const {
    std::vector<double> x;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double mean = p_["statistics.mean"][static_cast<std::int64_t>(i)].item<double>();
      const double deviation =
          p_["statistics.deviation"][static_cast<std::int64_t>(i)].item<double>();
      x.push_back(std::clamp((row[i] - mean) / deviation, -5.0, 5.0));
    }
    return x;
  }
  AgeScale ages() const {
    return {p_["statistics.ages"][0].item<double>(), p_["statistics.ages"][1].item<double>()};
  }

 private:
  static std::vector<double> of(const Tensor& x) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < x.size(0); ++i) values.push_back(x[i].item<double>());
    return values;
  }
  static void add(std::vector<double>& sum, const std::vector<double>& more) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  static void rectify(std::vector<double>& values) {
    for (double& value : values) value = std::max(value, 0.0);
  }
  std::vector<double> map(const std::string& name, std::span<const double> x) const {
    const Tensor& weight = p_[name + ".weight"];
    const Tensor& bias = p_[name + ".bias"];
    std::vector<double> y;
    for (std::int64_t i = 0; i < weight.size(0); ++i) {
      y.push_back(bias[i].item<double>());
      for (std::size_t k = 0; k < x.size(); ++k) {
        y.back() += weight[i][static_cast<std::int64_t>(k)].item<double>() * x[k];
      }
    }
    return y;
  }

  NamedTensors p_;
};

std::shared_ptr<Decoder> small_pair_decoder(const char* walk) {
  Options options = decoders().at("pair").defaults;
  set_given({{"walk", walk}, {"hidden", "6"}}, options);
  return make_decoder("pair", options,
                      {.num_nodes = 8, .training_span = 3, .width = kWidth, .seed = 1});
}

TEST(PairDecoderTest, GroupsOfStatisticsAtTheirMeansMatchLoops) {
  const LinkScene scene;
  for (const char* walk : {"off", "on"}) {
    const auto decoder = scene.told(small_pair_decoder(walk));
    const bool has_walks = std::string(walk) == "on";
    WalkSketch sketch({.num_nodes = 8, .decay = 100, .seed = 1});
    const std::vector<EventId> numbers_of = {0, 1, 2};
    const EventBatch batch{.src = scene.log.src.span().first(3),
                           .dst = scene.log.dst.span().first(3),
                           .time = scene.log.time.span().first(3),
                           .events = numbers_of};
    if (has_walks) decoder->observe(batch);
    sketch.observe(batch);
    const NaivePair naive(*decoder);
    const Links typical(2, std::vector<NodeId>{1, 4}, std::vector<NodeId>{4, 2}, 8);
    const Tensor z = numbers(16, {scene.links.roots().size(), kWidth});
    const Tensor typical_z = numbers(17, {typical.roots().size(), kWidth});
    const std::vector<float> rows =
        PairStatistics(scene.indices.past(), naive.ages()).of_pairs(scene.links);
    const std::vector<float> walks = sketch.of_pairs(scene.links);
    const std::vector<float> typical_walks = sketch.of_pairs(typical);
    std::vector<double> mean_walk;
    for (std::size_t i = 0; has_walks && i < WalkSketch::kStatistics; ++i) {
      mean_walk.push_back((typical_walks[i] + typical_walks[WalkSketch::kStatistics + i]) / 2);
    }
    const LogitsAtMeans found = decoder->at_means(scene.links, z, typical, typical_z);
    const std::vector<std::string> parts = decoder->parts();
    ASSERT_EQ(parts.size(), has_walks ? 10U : 9U);
    const Tensor logits = decoder->logits(scene.links, z);
    for (std::int64_t link = 0; link < scene.links.size(); ++link) {
      const Tensor h_u = z[scene.links.source_root(link)];
      const Tensor h_v = z[scene.links.destination()[index(link)]];
      const auto row =
          std::span(rows).subspan(index(link) * kPairStatistics.size(), kPairStatistics.size());
      const std::vector<double> x = naive.standardised(row);
      std::vector<double> walk_row;
      if (has_walks) {
        const auto begin = walks.begin() + link * WalkSketch::kStatistics;
        walk_row.assign(begin, begin + WalkSketch::kStatistics);
      }
      EXPECT_NEAR(logits[link].item<double>(), naive.logit(x, walk_row, h_u, h_v), 1e-4);
      for (std::size_t part = 0; part < parts.size() - 2; ++part) {
        std::vector<double> moved = x;
        for (std::size_t i = 0; i < moved.size(); ++i) {
          if (name_of(kPairStatistics[i].group) == parts[part]) moved[i] = 0;
        }
        EXPECT_NEAR(found.parts[part][link].item<double>(),
                    naive.logit(moved, parts[part] == "walks" ? mean_walk : walk_row, h_u, h_v),
                    1e-4)
            << parts[part];
      }
      const auto mean = [&](std::span<const std::int64_t> roots) {
        return (typical_z[roots[0]] + typical_z[roots[1]]) / 2;
      };
      const std::vector<std::int64_t> sources = {typical.source_root(0), typical.source_root(1)};
      EXPECT_NEAR(found.all[link].item<double>(),
                  naive.logit(std::vector<double>(x.size(), 0), mean_walk, mean(sources),
                              mean(typical.destination())),
                  1e-4);
    }
  }
}

// Where nothing is rectified, parts add up to the whole.
TEST(PairDecoderTest, WhatPartsMoveAddsUpInALinearDecoder) {
  const LinkScene scene;
  const auto decoder = scene.told(small_pair_decoder("off"));
  {
    const NoGradGuard no_grad;
    const NamedTensors p = decoder->named_parameters();
    Tensor(p["pair.bias"]).fill_(20);
    Tensor(p["hidden.bias"]).fill_(100);
  }
  const Links typical(2, std::vector<NodeId>{1, 4}, std::vector<NodeId>{4, 2}, 8);
  const Tensor z = numbers(18, {scene.links.roots().size(), kWidth});
  const Tensor typical_z = numbers(19, {typical.roots().size(), kWidth});
  const Tensor whole = decoder->logits(scene.links, z);
  const LogitsAtMeans found = decoder->at_means(scene.links, z, typical, typical_z);
  Tensor sum = at::zeros_like(whole);
  for (const Tensor& part : found.parts) sum = sum + (whole - part);
  EXPECT_TRUE(at::allclose(sum, whole - found.all, 1e-3, 1e-3));
  EXPECT_GT((whole - found.all).abs().max().item<double>(), 0.05) << "something has moved";
}

/// Width 1: W_s = 0, W_d = 2, b_d = 3, and what comes out is the hidden value itself.
std::shared_ptr<Decoder> by_hand(Path path) {
  const auto decoder = made("additive", path, /*width=*/1);
  const NoGradGuard no_grad;
  const NamedTensors p = decoder->named_parameters();
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, double>>{{"source.weight", 0},
                                                   {"source.bias", 0},
                                                   {"destination.weight", 2},
                                                   {"destination.bias", 3},
                                                   {"out.weight", 1},
                                                   {"out.bias", 0}}) {
    Tensor(p[name]).fill_(value);
  }
  return decoder;
}

// Whole 5 gives 13, its part 1 gives 5, and the rest 4 gives 11.
TEST(IrrelevantFactorTest, LiteralValues) {
  const std::vector<NodeId> src = {0};
  const std::vector<NodeId> dst = {1};
  const std::vector<Timestamp> time = {0};
  const Links link(Pairs{src, dst, time});
  const Tensor z = at::tensor({5.0F, 7.0F}).view({2, 1});
  const Tensor part = at::tensor({1.0F}).view({1, 1});
  for (const Path path : {Path::kFast, Path::kPlain}) {
    const auto decoder = by_hand(path);
    for (const SplitLogits& found :
         {decoder->split(link, z, part), decoder->Decoder::split(link, z, part)}) {
      EXPECT_EQ(found.whole.item<double>(), 13);
      EXPECT_EQ(found.part.item<double>(), 5);
      EXPECT_EQ(found.rest.item<double>(), 11);
    }
  }
}

/// Splits and all gradients of two decoders with equal parameters are equal.
void expect_same_splits(const LinkScene& scene, const std::vector<std::shared_ptr<Decoder>>& both) {
  std::vector<Tensor> values;
  std::vector<std::vector<Tensor>> gradients;
  for (const std::shared_ptr<Decoder>& decoder : both) {
    const Tensor z = numbers(9, {scene.links.roots().size(), kWidth}).requires_grad_(true);
    const Tensor parts = numbers(10, {scene.split(), kWidth}).requires_grad_(true);
    const Tensor found = joined(decoder->split(scene.links, z, parts));
    mixed(found).backward();
    values.push_back(found.detach());
    gradients.push_back({z.grad(), parts.grad()});
    for (const Tensor& parameter : decoder->parameters()) {
      gradients.back().push_back(parameter.grad());
    }
  }
  EXPECT_TRUE(at::allclose(values[0], values[1], 1e-5, 1e-6));
  ASSERT_EQ(gradients[0].size(), gradients[1].size());
  for (std::size_t i = 0; i < gradients[0].size(); ++i) {
    EXPECT_TRUE(at::allclose(gradients[0][i], gradients[1][i], 1e-4, 1e-5)) << i;
  }
}

TEST(IrrelevantFactorTest, OwnSplitsMatchTheFallback) {
  const LinkScene scene;
  for (const auto& [name, path] :
       std::vector<std::pair<std::string, Path>>{{"additive", Path::kFast},
                                                 {"additive", Path::kPlain},
                                                 {"pair", Path::kFast},
                                                 {"pair", Path::kPlain}}) {
    const auto own = scene.told(made(name, path));
    const auto inner = scene.told(made(name, path));
    copy_parameters(*own, *inner);
    expect_same_splits(scene, {own, std::make_shared<WithoutSplit>(inner)});
  }
}

TEST(DecoderPathsTest, FastAndPlainAgree) {
  const LinkScene scene;
  for (const std::string& name : names()) {
    SCOPED_TRACE(name);
    expect_same_splits(scene,
                       {scene.told(made(name, Path::kFast)), scene.told(made(name, Path::kPlain))});
  }
}

TEST(DecoderRegistryTest, ANameThatIsTakenIsRefused) {
  bilinear();
  for (const char* taken : {"additive", "bilinear"}) {
    const std::size_t before = decoders().names().size();
    EXPECT_TRUE(fails(
        [&] {
          decoders().add({{.name = taken}, {}});
        },
        {"decoder", taken, "another name"}));
    EXPECT_EQ(decoders().names().size(), before);
  }
  EXPECT_TRUE(fails([] { decoders().add({}); }, {"a decoder needs a name"}));
}

TEST(DecoderRegistryTest, UnknownNamesAndImpossibleOptionsAreUsageErrors) {
  EXPECT_TRUE(fails<UsageError>([] { make_decoder("aditive", {}, {.width = kWidth}); },
                                {"aditive", "additive"}));
  EXPECT_TRUE(fails<UsageError>(
      [] { make_decoder(bilinear(), testing::BilinearOptions{.scale = 0}, {.width = kWidth}); },
      {"--bilinear-scale 0"}));
}

// An option of a decoder from outside is given as any other.
TEST(DecoderRegistryTest, OptionsReachADecoderFromOutside) {
  const LinkScene scene;
  const Tensor z = numbers(13, {scene.links.roots().size(), kWidth});
  const auto logits = [&](const char* scale) {
    Options options = decoders().at(bilinear()).defaults;
    set_given({{"bilinear-scale", scale}}, options);
    return make_decoder(bilinear(), options, {.width = kWidth, .seed = 1})->logits(scene.links, z);
  };
  EXPECT_TRUE(at::allclose(logits("3"), 3 * logits("1")));
}

}  // namespace
}  // namespace curnm
