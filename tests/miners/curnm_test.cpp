#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/curnm_scene.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::distinct_log;
using testing::Event;
using testing::half_selected;
using testing::kPool;
using testing::Learner;
using testing::make_log;
using testing::MiningNetwork;
using testing::NaiveCurnm;
using testing::only_selection;
using testing::random_log;
using testing::Scene;
using testing::ScopedThreads;
using testing::Vector;

class CurnmMinerTest : public ::testing::Test {
 protected:
  const ScopedThreads single_{1};  // such small steps are slower with more
  const MiningNetwork network_{distinct_log()};
};

TEST_F(CurnmMinerTest, TheWholeLossMatchesLoops) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    for (const char* contrast : {"logsigmoid", "raw"}) {
      for (const char* corrupt : {"destination", "both", "half"}) {
        const auto change = [&](CurnmOptions& o) {
          o.contrast = contrast;
          o.beta_epochs = 4;
        };
        Scene scene(network_, half_selected(change, corrupt), path);
        const NaiveCurnm naive(scene, network_, /*beta=*/0.25);
        const auto chosen =
            naive.highest(Scene::kSize * kPool / 2,
                          [&](std::int64_t i, std::int64_t j) { return naive.closeness(i, j); });
        const Mined mined = scene.mine();
        for (const auto& [name, value] : naive.losses(chosen, contrast)) {
          EXPECT_NEAR(mined.losses.at(name), value, 1e-4)
              << name << " " << contrast << " " << corrupt;
        }
        for (std::int64_t i = 0; i < Scene::kSize; ++i) {
          for (std::int64_t j = 0; j < kPool; ++j) {
            ASSERT_NEAR(mined.candidate_logits[i * kPool + j].item<double>(), naive.logit(i, j),
                        1e-4);
          }
        }
      }
    }
  }
}

// Everything is selected while pi is 1.
TEST_F(CurnmMinerTest, TheWholeLossOfTheFirstEpochMatchesLoops) {
  Scene scene(network_, {});
  const NaiveCurnm naive(scene, network_, /*beta=*/1);
  const auto chosen =
      naive.highest(Scene::kSize * kPool, [](std::int64_t, std::int64_t) { return 0.0; });
  const Mined mined = scene.mine();
  for (const auto& [name, value] : naive.losses(chosen, "logsigmoid")) {
    EXPECT_NEAR(mined.losses.at(name), value, 1e-4) << name;
  }
}

TEST_F(CurnmMinerTest, GradientsOfBothPathsAgree) {
  for (const char* corrupt : {"destination", "half"}) {
    const auto options = half_selected([](CurnmOptions&) {}, corrupt);
    Scene fast(network_, options, Path::kFast);
    Scene plain(network_, options, Path::kPlain);
    fast.mine().loss.backward();
    plain.mine().loss.backward();
    EXPECT_TRUE(torch::allclose(fast.z.grad(), plain.z.grad(), 1e-3, 1e-6));
    const auto compare = [](const torch::nn::Module& a, const torch::nn::Module& b) {
      for (const auto& item : a.named_parameters()) {
        const torch::Tensor& other = b.named_parameters()[item.key()].grad();
        EXPECT_TRUE(torch::allclose(item.value().grad(), other, 1e-3, 1e-5)) << item.key();
      }
    };
    compare(fast.decoder, plain.decoder);
    compare(*fast.miner, *plain.miner);
  }
}

TEST_F(CurnmMinerTest, TheLossIsTheSumOfItsParts) {
  Scene scene(network_, half_selected([](CurnmOptions& o) {
                o.delta_min = 0.625;
                o.lambda = 0.75;
                o.mu = 0.125;
              }));
  const Mined mined = scene.mine();
  EXPECT_EQ(mined.losses.at("squared_norm"), 1) << "of the parameters that the context names";
  EXPECT_EQ(mined.decay, 0.125) << "the gradient of the norm is the optimiser's";
  EXPECT_NEAR(mined.loss.item<double>(),
              mined.losses.at("positive") + 0.625 * mined.losses.at("random") +
                  0.375 * mined.losses.at("selected") + 0.75 * mined.losses.at("contrastive") +
                  0.125 * mined.losses.at("squared_norm"),
              1e-5);
}

TEST_F(CurnmMinerTest, SelectsTheClosestOfTheBatch) {
  Scene scene(network_, only_selection("batch"));
  const NaiveCurnm naive(scene, network_, /*beta=*/1);
  std::set<std::size_t> found;
  std::set<std::size_t> counts;
  const auto selected = scene.selected();
  for (std::size_t i = 0; i < selected.size(); ++i) {
    counts.insert(selected[i].size());
    for (std::int64_t j : selected[i]) found.insert(i * kPool + static_cast<std::size_t>(j));
  }
  EXPECT_EQ(found, naive.highest(found.size(), [&](std::int64_t i, std::int64_t j) {
    return naive.closeness(i, j);
  }));
  EXPECT_EQ(found.size(), 48u) << "half of 12·8";
  EXPECT_GT(counts.size(), 1u) << "some positives have more than others";
}

TEST_F(CurnmMinerTest, SelectsTheClosestOfEachRow) {
  Scene scene(network_, only_selection("row"));
  const NaiveCurnm naive(scene, network_, /*beta=*/1);
  const auto selected = scene.selected();
  for (std::int64_t i = 0; i < Scene::kSize; ++i) {
    const std::set<std::int64_t>& own = selected[static_cast<std::size_t>(i)];
    EXPECT_EQ(own.size(), 4u) << "half of 8, each";
    for (std::int64_t j = 0; j < kPool; ++j) {
      std::int64_t closer = 0;
      for (std::int64_t k = 0; k < kPool; ++k) {
        if (naive.closeness(i, k) > naive.closeness(i, j)) ++closer;
      }
      EXPECT_EQ(own.contains(j), closer < 4) << "candidate " << j << " of " << i;
    }
  }
}

TEST_F(CurnmMinerTest, WithoutDisentanglementTheHighestLogitsAreSelected) {
  Scene scene(network_, half_selected([](CurnmOptions& o) {
                o.ablate = "disentangle";
                o.mu = 0;
              }));
  EXPECT_TRUE(scene.miner->parameters().empty());
  const Mined mined = scene.mine();
  EXPECT_EQ(mined.losses.at("contrastive"), 0);
  std::vector<float> logits(static_cast<std::size_t>(mined.candidate_logits.numel()));
  copy_to(mined.candidate_logits, std::span(logits));
  std::sort(logits.begin(), logits.end(), std::greater<>());
  double highest = 0;
  for (std::size_t n = 0; n < logits.size() / 2; ++n) highest += std::log1p(std::exp(logits[n]));
  EXPECT_NEAR(mined.losses.at("selected"), highest / static_cast<double>(logits.size() / 2), 1e-5);
}

// The released program ranks candidates with embeddings of other rows. Here another embedding of
// the destination of positive i, or of a candidate of it, changes what is selected for positive i
// and for nobody else.
TEST_F(CurnmMinerTest, RanksACandidateBesideItsOwnPositive) {
  Scene scene(network_, only_selection("row"));
  const auto before = scene.selected();
  std::size_t changes = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto positive = static_cast<std::int64_t>(i);
    for (const std::int64_t changed :
         {scene.row_of_destination(positive), scene.row_of(positive, 3)}) {
      const torch::Tensor kept = scene.z.detach().clone();
      {
        const torch::NoGradGuard no_grad;
        scene.z[changed] *= -3;
      }
      const auto after = scene.selected();
      for (std::size_t other = 0; other < before.size(); ++other) {
        if (other != i) {
          EXPECT_EQ(after[other], before[other]) << "positive " << i;
        }
      }
      changes += after[i] == before[i] ? 0 : 1;
      const torch::NoGradGuard no_grad;
      scene.z.copy_(kept);
    }
  }
  EXPECT_GE(changes, before.size()) << "the changes must matter to the positive itself";
}

TEST_F(CurnmMinerTest, ProposesAsManyRandomNegativesAsAreSelected) {
  for (const double pi : {1.0, 0.5, 0.3, 0.1}) {
    const auto miner = network_.miner("curnm", half_selected([&](CurnmOptions& o) { o.pi = pi; }));
    miner->begin_epoch(0);
    const Candidates found = miner->propose(network_.batch(50, 70), Rng(1, Stream::kTest));
    EXPECT_EQ(found.extra.size(), std::llround(pi * 20 * kPool));
    std::vector<std::int64_t> counts(20);
    for (std::int64_t row : found.extra.rows) ++counts[static_cast<std::size_t>(row)];
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    EXPECT_LE(*most - *least, 1) << "spread evenly over the positives";
  }
}

torch::Tensor gradient_of_embeddings(const MiningNetwork& network, double lambda,
                                     const char* gradient) {
  Scene scene(network, half_selected([&](CurnmOptions& o) {
                o.lambda = lambda;
                o.contrast_gradient = gradient;
                o.mu = 0;
              }));
  scene.mine().loss.backward();
  EXPECT_EQ(scene.miner->parameters().front().grad().defined(), lambda > 0);
  torch::Tensor all = scene.z.grad().reshape(-1);
  for (const torch::Tensor& parameter : scene.decoder.parameters()) {
    all = torch::cat({all, parameter.grad().reshape(-1)});
  }
  return all;
}

TEST_F(CurnmMinerTest, TheContrastiveLossCanTrainTheGatesAlone) {
  const torch::Tensor without = gradient_of_embeddings(network_, 0, "all");
  EXPECT_TRUE(torch::allclose(without, gradient_of_embeddings(network_, 0.3, "gates"), 1e-5, 1e-7));
  EXPECT_FALSE(torch::allclose(without, gradient_of_embeddings(network_, 0.3, "all"), 1e-2, 1e-4));
}

TEST_F(CurnmMinerTest, WhereTheContrastiveLossEndsDoesNotChangeItsValue) {
  const auto losses = [&](const char* gradient) {
    return Scene(network_, half_selected([&](CurnmOptions& o) { o.contrast_gradient = gradient; }))
        .mine()
        .losses;
  };
  EXPECT_EQ(losses("gates"), losses("all"));
}

std::set<std::string> parameter_names(const MiningNetwork& network, const char* ablate) {
  std::set<std::string> names;
  const auto miner =
      network.miner("curnm", half_selected([&](CurnmOptions& o) { o.ablate = ablate; }));
  for (const auto& item : miner->named_parameters()) names.insert(item.key());
  return names;
}

TEST_F(CurnmMinerTest, AblationsLeaveNoParametersBehind) {
  const auto whole = parameter_names(network_, "none");
  EXPECT_TRUE(parameter_names(network_, "disentangle").empty());
  const auto timeless = parameter_names(network_, "temporal");
  EXPECT_EQ(timeless.size() + 4, whole.size()) << "frequency, phase and the map of Time2Vec";
  for (const std::string& name : timeless) EXPECT_EQ(name.find("time2vec"), std::string::npos);
  for (const char* other : {"pi", "random", "cache"}) {
    EXPECT_EQ(parameter_names(network_, other), whole) << other;
  }
}

TEST_F(CurnmMinerTest, WithoutTheTemporalFactorPastTimesDoNotMatter) {
  for (const char* ablate : {"none", "temporal"}) {
    Scene scene(network_, half_selected([&](CurnmOptions& o) { o.ablate = ablate; }));
    const double before = scene.mine().loss.item<double>();
    for (Timestamp& met : scene.candidates.met) met = kNever;
    const double after = scene.mine().loss.item<double>();
    EXPECT_EQ(before == after, std::string_view(ablate) == "temporal");
  }
}

TEST_F(CurnmMinerTest, WithoutRandomNegativesThereAreNone) {
  Scene scene(network_, half_selected([](CurnmOptions& o) { o.ablate = "random"; }));
  EXPECT_EQ(scene.candidates.extra.size(), 0);
  const Mined mined = scene.mine();
  EXPECT_EQ(mined.losses.at("random"), 0);
  EXPECT_NEAR(mined.loss.item<double>(),
              mined.losses.at("positive") + mined.losses.at("selected") +
                  0.3 * mined.losses.at("contrastive"),
              1e-5);
}

std::int64_t hard_ones(const Candidates& candidates) {
  return std::count(candidates.kinds.begin(), candidates.kinds.end(), CandidateKind::kHard);
}

// The pools of the second epoch begin with what the cache has kept of the first one's.
TEST_F(CurnmMinerTest, LatePoolsUseTheCache) {
  Learner learner(network_, "jodie", "curnm", half_selected());
  learner.begin_epoch(0);
  std::vector<NodeId> pools;  // of the first epoch, [E,M]
  for (std::int64_t index = 0; index < learner.batches(); ++index) {
    const Candidates early = learner.propose(0, index);
    EXPECT_EQ(hard_ones(early), 0);
    pools.insert(pools.end(), early.nodes.begin(), early.nodes.end());
    learner.step(0, index);
  }
  EXPECT_EQ(learner.miner().telemetry().at("cache_events"), 120);
  EXPECT_EQ(learner.miner().telemetry().at("cache_turnover"), 1);
  learner.miner().end_epoch(0.5);
  learner.begin_epoch(1);
  const torch::Tensor cached = learner.miner().state().at(2).view({-1, kPool / 2});
  for (std::int64_t index = 0; index < learner.batches(); ++index) {
    const Candidates late = learner.propose(1, index);
    EXPECT_EQ(hard_ones(late), learner.batch(index).size() * kPool / 2);
    for (std::int64_t i = 0; i < learner.batch(index).size(); ++i) {
      const std::int64_t event = index * Learner::kBatch + i;
      const auto first = pools.begin() + event * kPool;
      for (std::int64_t j = 0; j < kPool / 2; ++j) {
        const NodeId hard = late.nodes[static_cast<std::size_t>(i * kPool + j)];
        ASSERT_EQ(hard, cached[event][j].item<NodeId>());
        ASSERT_NE(std::find(first, first + kPool, hard), first + kPool) << "never in its pool";
      }
    }
    learner.step(1, index);
  }
  const double turnover = learner.miner().telemetry().at("cache_turnover");
  EXPECT_GT(turnover, 0);
  EXPECT_LT(turnover, 1);
}

TEST_F(CurnmMinerTest, WithoutTheCacheNothingIsHard) {
  for (const bool by_tau : {false, true}) {
    Learner learner(network_, "jodie", "curnm", half_selected([&](CurnmOptions& o) {
                      if (by_tau) {
                        o.tau = 0.4;
                      } else {
                        o.ablate = "cache";
                      }
                    }));
    learner.run_epoch(0);
    learner.run_epoch(1);
    learner.begin_epoch(2);
    for (std::int64_t index = 0; index < learner.batches(); ++index) {
      EXPECT_EQ(hard_ones(learner.propose(2, index)), 0);
    }
    EXPECT_EQ(learner.miner().telemetry().at("caching"), 0);
  }
}

// A deviation that counts a thousandfold leaves no weight to most candidates that were scored
// twice, so that others are kept.
TEST_F(CurnmMinerTest, AlphaDecidesWhatIsKept) {
  const auto cached = [&](double alpha) {
    Learner learner(network_, "jodie", "curnm", half_selected([&](CurnmOptions& o) {
                      o.alpha_max = alpha;
                      o.alpha_epochs = 1;
                    }));
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) learner.run_epoch(epoch);
    return learner.miner().state().at(2);
  };
  EXPECT_TRUE(torch::equal(cached(0), cached(0)));
  EXPECT_FALSE(torch::equal(cached(0), cached(1000)));
}

TEST_F(CurnmMinerTest, GammaHistIsTheShareOfHistoricalOnes) {
  const MiningNetwork busy(random_log(2, {.nodes = 40, .events = 600, .distinct_times = 600}));
  const auto share = [&](double gamma) {
    const auto miner =
        busy.miner("curnm", half_selected([&](CurnmOptions& o) { o.gamma_hist = gamma; }));
    miner->begin_epoch(0);
    const Candidates found = miner->propose(busy.batch(500, 540), Rng(1, Stream::kTest));
    return std::count(found.kinds.begin(), found.kinds.end(), CandidateKind::kHistorical);
  };
  EXPECT_EQ(share(0), 0);
  EXPECT_EQ(share(0.6), 40 * 5);
  EXPECT_EQ(share(1), 40 * 8);
}

/// pi of the epochs that follow these metrics.
Vector course_of_pi(const MiningNetwork& network, const MinerOptions& options,
                    const Vector& metrics) {
  const auto miner = network.miner("curnm", options);
  Vector course;
  for (double metric : metrics) {
    miner->end_epoch(metric);
    miner->begin_epoch(static_cast<std::int64_t>(course.size()) + 1);
    course.push_back(miner->telemetry().at("pi"));
  }
  return course;
}

TEST_F(CurnmMinerTest, PiFollowsTheValidation) {
  MinerOptions options;
  options.curnm.pi = 0.75;
  options.curnm.shrink = 0.125;
  EXPECT_EQ(course_of_pi(network_, options, {0.5, 0.6, 0.5, 0.7}),
            (Vector{0.75, 0.625, 0.625, 0.5}));
  options.curnm.plateau = "raise";
  EXPECT_EQ(course_of_pi(network_, options, {0.5, 0.6, 0.5, 0.7}),
            (Vector{0.875, 0.75, 0.875, 0.75}));
  options.curnm.ablate = "pi";
  EXPECT_EQ(course_of_pi(network_, options, {0.5, 0.6, 0.5, 0.7}), Vector(4, 0.75));
}

TEST_F(CurnmMinerTest, PiCanFollowTheTrainingInstead) {
  const auto course = [&](const char* metric, double sign) {
    MinerOptions options;
    options.curnm.curriculum_metric = metric;
    options.curnm.pi = 0.75;
    Learner learner(network_, "jodie", "curnm", options);
    Vector pi;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      learner.run_epoch(epoch, 0.5 + sign * 0.1 * static_cast<double>(epoch));
      learner.begin_epoch(epoch + 1);
      pi.push_back(learner.miner().telemetry().at("pi"));
    }
    return pi;
  };
  EXPECT_EQ(course("training", 1), course("training", -1)) << "validation does not matter";
  EXPECT_NE(course("validation", 1), course("validation", -1));
}

// Networks on which a part cannot work are learned from nevertheless.
TEST(CurnmDegenerateTest, TrainsOnAnyNetworkWithTwoDestinations) {
  const ScopedThreads single(1);
  std::vector<Event> repeated;
  for (int e = 0; e < 50; ++e) repeated.push_back({e % 2, 2 + e % 3 % 2, static_cast<double>(e)});
  std::vector<Event> crowded;  // 0 meets every destination at every time
  for (int e = 0; e < 60; ++e) crowded.push_back({0, 1 + e % 3, static_cast<double>(e / 3)});
  std::vector<Event> timeless = testing::events_of(distinct_log());
  for (Event& event : timeless) event.time = 5;
  for (const EventLog& log :
       {make_log(repeated, 4), make_log(crowded, 4), make_log(timeless, 50)}) {
    const MiningNetwork network(log);
    Learner learner(network, "tgn", "curnm", half_selected());
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      learner.begin_epoch(epoch);
      for (std::int64_t index = 0; index < learner.batches(); ++index) {
        ASSERT_TRUE(std::isfinite(learner.step(epoch, index).loss.item<double>()));
        for (const auto& item : learner.miner().named_parameters()) {
          ASSERT_TRUE(torch::isfinite(item.value()).all().item<bool>()) << item.key();
        }
      }
      learner.miner().end_epoch(0.5);
    }
  }
}

// As the note says.
TEST(CurnmDegenerateTest, WhereAllTimesAreEqualTheTemporalFactorHasNoEffect) {
  const ScopedThreads single(1);
  std::vector<Event> events = testing::events_of(distinct_log());
  for (Event& event : events) event.time = 5;
  const MiningNetwork network(make_log(events, 50));
  Learner whole(network, "jodie", "curnm", half_selected());
  Learner timeless(network, "jodie", "curnm",
                   half_selected([](CurnmOptions& o) { o.ablate = "temporal"; }));
  whole.begin_epoch(0);
  timeless.begin_epoch(0);
  for (std::int64_t index = 0; index < whole.batches(); ++index) {
    EXPECT_NEAR(whole.step(0, index).losses.at("contrastive"),
                timeless.step(0, index).losses.at("contrastive"), 1e-4)
        << "batch " << index;
  }
}

}  // namespace
}  // namespace curnm
