#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/curnm_scene.h"
#include "support/decoders.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::distinct_log;
using testing::Event;
using testing::half_selected;
using testing::kPool;
using testing::make_log;
using testing::MiningNetwork;
using testing::MiningRun;
using testing::NaiveCurnm;
using testing::only_selection;
using testing::random_log;
using testing::Scene;
using testing::ScopedThreads;
using testing::Vector;
using testing::WithoutSplit;

class CurnmMinerTest : public ::testing::Test {
 protected:
  const ScopedThreads single_{1};  // such small steps are slower with more
  const MiningNetwork network_{distinct_log()};
};

TEST_F(CurnmMinerTest, TheWholeLossMatchesLoops) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    for (const Contrast contrast : {Contrast::kLogSigmoid, Contrast::kRaw}) {
      for (const Corruption corrupt :
           {Corruption::kDestination, Corruption::kBoth, Corruption::kHalf}) {
        const FactorScores scores =
            corrupt == Corruption::kBoth ? FactorScores::kProbabilities : FactorScores::kLogits;
        const auto change = [&](CurnmOptions& o) {
          o.contrast = contrast;
          o.closeness = scores;
          o.beta_epochs = 4;
        };
        Scene scene(network_, half_selected(change, corrupt), path);
        const NaiveCurnm naive(scene, network_, /*beta=*/0.25, scores);
        const auto chosen =
            naive.highest(Scene::kSize * kPool / 2,
                          [&](std::int64_t i, std::int64_t j) { return naive.closeness(i, j); });
        const Mined mined = scene.mine();
        for (const auto& [name, value] : naive.losses(chosen, contrast)) {
          EXPECT_NEAR(mined.losses.at(name), value, 1e-4)
              << name << " " << name_of(contrast) << " " << name_of(corrupt);
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
  for (const auto& [name, value] : naive.losses(chosen, Contrast::kLogSigmoid)) {
    EXPECT_NEAR(mined.losses.at(name), value, 1e-4) << name;
  }
}

void expect_same_gradients(const Module& a, const Module& b) {
  for (const auto& item : a.named_parameters()) {
    const Tensor other = b.named_parameters()[item.key()].grad();
    EXPECT_TRUE(at::allclose(item.value().grad(), other, 1e-3, 1e-5)) << item.key();
  }
}

TEST_F(CurnmMinerTest, GradientsOfBothPathsAgree) {
  for (const Corruption corrupt : {Corruption::kDestination, Corruption::kHalf}) {
    const auto options = half_selected([](CurnmOptions&) {}, corrupt);
    Scene fast(network_, options, Path::kFast);
    Scene plain(network_, options, Path::kPlain);
    fast.mine().loss.backward();
    plain.mine().loss.backward();
    EXPECT_TRUE(at::allclose(fast.z.grad(), plain.z.grad(), 1e-3, 1e-6));
    expect_same_gradients(*fast.decoder, *plain.decoder);
    expect_same_gradients(*fast.miner, *plain.miner);
  }
}

// A decoder that says nothing about split destinations is asked for logits of more of them.
TEST_F(CurnmMinerTest, ADecoderWithoutASplitOfItsOwnComesToTheSame) {
  for (const Path path : {Path::kFast, Path::kPlain}) {
    for (const ContrastGradient gradient : {ContrastGradient::kAll, ContrastGradient::kGates}) {
      const auto options = half_selected([&](CurnmOptions& o) { o.contrast_gradient = gradient; },
                                         Corruption::kHalf);
      Scene own(network_, options, path);
      Scene general(network_, options, path);
      const std::shared_ptr<Decoder> inner = general.decoder;
      general.decoder = std::make_shared<WithoutSplit>(inner);
      const Mined expected = own.mine();
      const Mined found = general.mine();
      for (const auto& [name, value] : expected.losses) {
        EXPECT_NEAR(found.losses.at(name), value, 1e-5) << name;
      }
      expected.loss.backward();
      found.loss.backward();
      EXPECT_TRUE(at::allclose(own.z.grad(), general.z.grad(), 1e-3, 1e-6));
      expect_same_gradients(*own.decoder, *inner);
      expect_same_gradients(*own.miner, *general.miner);
    }
  }
}

TEST_F(CurnmMinerTest, TheLossIsTheSumOfItsParts) {
  Scene scene(network_, half_selected([](CurnmOptions& o) {
                o.delta_min = 0.625;
                o.lambda = 0.75;
              }));
  const Mined mined = scene.mine();
  EXPECT_NEAR(mined.loss.item<double>(),
              mined.losses.at("positive") + 0.625 * mined.losses.at("random") +
                  0.375 * mined.losses.at("selected") + 0.75 * mined.losses.at("contrastive"),
              1e-5);
}

TEST_F(CurnmMinerTest, SelectsTheClosestOfTheBatch) {
  std::vector<std::set<std::size_t>> by_scores;
  for (const FactorScores scores : {FactorScores::kLogits, FactorScores::kProbabilities}) {
    Scene scene(network_, only_selection(Selection::kBatch, scores));
    {
      const NoGradGuard no_grad;
      scene.z *= 6;  // logits that are far apart, as probabilities are not
    }
    const NaiveCurnm naive(scene, network_, /*beta=*/1, scores);
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
    by_scores.push_back(found);
  }
  EXPECT_NE(by_scores[0], by_scores[1]) << "it matters how scores are compared";
}

TEST_F(CurnmMinerTest, SelectsTheClosestOfEachRow) {
  Scene scene(network_, only_selection(Selection::kRow));
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
  Scene scene(network_, half_selected([](CurnmOptions& o) { o.ablate = Ablation::kDisentangle; }));
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
  Scene scene(network_, only_selection(Selection::kRow));
  const auto before = scene.selected();
  std::size_t changes = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto positive = static_cast<std::int64_t>(i);
    for (const std::int64_t changed :
         {scene.row_of_destination(positive), scene.row_of(positive, 3)}) {
      const Tensor kept = scene.z.detach().clone();
      {
        const NoGradGuard no_grad;
        scene.z[changed] *= -3;
      }
      const auto after = scene.selected();
      for (std::size_t other = 0; other < before.size(); ++other) {
        if (other != i) {
          EXPECT_EQ(after[other], before[other]) << "positive " << i;
        }
      }
      changes += after[i] == before[i] ? 0 : 1;
      const NoGradGuard no_grad;
      scene.z.copy_(kept);
    }
  }
  EXPECT_GE(changes, before.size()) << "the changes must matter to the positive itself";
}

TEST_F(CurnmMinerTest, ProposesAsManyRandomNegativesAsAreSelected) {
  for (const double pi : {1.0, 0.5, 0.3, 0.1}) {
    const auto miner = network_.curnm(half_selected([&](CurnmOptions& o) { o.pi = pi; }));
    miner->begin_epoch(0);
    const Candidates found = miner->propose(network_.batch(50, 70), Rng(1, Stream::kTest));
    EXPECT_EQ(found.extra.size(), std::llround(pi * 20 * kPool));
    std::vector<std::int64_t> counts(20);
    for (std::int64_t row : found.extra.rows) ++counts[static_cast<std::size_t>(row)];
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    EXPECT_LE(*most - *least, 1) << "spread evenly over the positives";
  }
}

// 30 % of 8 per positive are not a whole number: which positives have one more depends on the
// batch, what they have does not.
TEST_F(CurnmMinerTest, RandomNegativesOfAnEventDifferByTheirNumberAtMost) {
  for (const Corruption corrupt : {Corruption::kDestination, Corruption::kBoth}) {
    const auto miner = network_.curnm(half_selected([](CurnmOptions& o) { o.pi = 0.3; }, corrupt));
    miner->begin_epoch(0);
    // Of each event, in batches of a size: the extra pairs.
    const auto extra_in_batches_of = [&](std::int64_t size) {
      std::vector<std::vector<std::pair<NodeId, NodeId>>> extra(network_.ids.size());
      for (std::int64_t begin = 0; begin < network_.log.size(); begin += size) {
        const std::int64_t end = std::min(begin + size, network_.log.size());
        const Candidates found = miner->propose(network_.batch(begin, end), Rng(1, Stream::kTest));
        for (std::size_t x = 0; x < found.extra.rows.size(); ++x) {
          extra[static_cast<std::size_t>(begin + found.extra.rows[x])].push_back(
              {found.extra.src[x], found.extra.dst[x]});
        }
      }
      return extra;
    };
    const auto whole = extra_in_batches_of(network_.log.size());
    std::size_t differ = 0;
    for (const std::int64_t size : {7, 40}) {
      const auto parts = extra_in_batches_of(size);
      for (std::size_t e = 0; e < whole.size(); ++e) {
        const std::size_t common = std::min(whole[e].size(), parts[e].size());
        ASSERT_GE(common, 2u);
        ASSERT_LE(std::max(whole[e].size(), parts[e].size()), 3u);
        ASSERT_TRUE(std::equal(whole[e].begin(), whole[e].begin() + static_cast<int>(common),
                               parts[e].begin()))
            << "event " << e << " in batches of " << size;
        differ += whole[e].size() != parts[e].size() ? 1 : 0;
      }
    }
    EXPECT_GT(differ, 0u) << "or there is nothing to see";
  }
}

/// What reaches the embeddings and the decoder.
Tensor gradient_behind_the_gates(const MiningNetwork& network, std::string_view decoder, Path path,
                                 double lambda, ContrastGradient gradient) {
  Scene scene(network, half_selected([&](CurnmOptions& o) {
                o.lambda = lambda;
                o.contrast_gradient = gradient;
              }),
              path, decoder);
  scene.mine().loss.backward();
  EXPECT_EQ(scene.miner->parameters().front().grad().defined(), lambda > 0);
  std::vector<Tensor> all = {scene.z.grad().reshape(-1)};
  for (const Tensor& parameter : scene.decoder->parameters()) {
    EXPECT_TRUE(parameter.requires_grad());
    all.push_back(parameter.grad().reshape(-1));
  }
  return at::cat(all);
}

TEST_F(CurnmMinerTest, TheContrastiveLossCanTrainTheGatesAlone) {
  for (const std::string_view decoder : {std::string_view("additive"), testing::bilinear()}) {
    for (const Path path : {Path::kFast, Path::kPlain}) {
      const auto gradient = [&](double lambda, ContrastGradient ends) {
        return gradient_behind_the_gates(network_, decoder, path, lambda, ends);
      };
      const Tensor without = gradient(0, ContrastGradient::kAll);
      EXPECT_TRUE(at::allclose(without, gradient(0.3, ContrastGradient::kGates), 1e-5, 1e-7))
          << decoder;
      EXPECT_FALSE(at::allclose(without, gradient(0.3, ContrastGradient::kAll), 1e-2, 1e-4))
          << decoder;
    }
  }
}

TEST_F(CurnmMinerTest, WhereTheContrastiveLossEndsDoesNotChangeItsValue) {
  const auto losses = [&](ContrastGradient gradient) {
    return Scene(network_, half_selected([&](CurnmOptions& o) { o.contrast_gradient = gradient; }))
        .mine()
        .losses;
  };
  EXPECT_EQ(losses(ContrastGradient::kGates), losses(ContrastGradient::kAll));
}

std::set<std::string> parameter_names(const MiningNetwork& network, Ablation ablate) {
  std::set<std::string> names;
  const auto miner = network.curnm(half_selected([&](CurnmOptions& o) { o.ablate = ablate; }));
  for (const auto& item : miner->named_parameters()) names.insert(item.key());
  return names;
}

TEST_F(CurnmMinerTest, AblationsLeaveNoParametersBehind) {
  const auto whole = parameter_names(network_, Ablation::kNone);
  EXPECT_TRUE(parameter_names(network_, Ablation::kDisentangle).empty());
  const auto timeless = parameter_names(network_, Ablation::kTemporal);
  EXPECT_EQ(timeless.size() + 4, whole.size()) << "frequency, phase and the map of Time2Vec";
  for (const std::string& name : timeless) EXPECT_EQ(name.find("time2vec"), std::string::npos);
  for (const Ablation other : {Ablation::kPi, Ablation::kRandom, Ablation::kCache}) {
    EXPECT_EQ(parameter_names(network_, other), whole) << name_of(other);
  }
}

TEST_F(CurnmMinerTest, WithoutTheTemporalFactorPastTimesDoNotMatter) {
  for (const Ablation ablate : {Ablation::kNone, Ablation::kTemporal}) {
    Scene scene(network_, half_selected([&](CurnmOptions& o) { o.ablate = ablate; }));
    const double before = scene.mine().loss.item<double>();
    for (Timestamp& met : scene.candidates.met) met = kNever;
    const double after = scene.mine().loss.item<double>();
    EXPECT_EQ(before == after, ablate == Ablation::kTemporal);
  }
}

TEST_F(CurnmMinerTest, WithoutRandomNegativesThereAreNone) {
  Scene scene(network_, half_selected([](CurnmOptions& o) { o.ablate = Ablation::kRandom; }));
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
  MiningRun run(network_, "jodie", "curnm", half_selected());
  run.begin_epoch(0);
  std::vector<NodeId> pools;  // of the first epoch, [E,M]
  for (std::int64_t index = 0; index < run.batches(); ++index) {
    const Candidates early = run.propose(0, index);
    EXPECT_EQ(hard_ones(early), 0);
    EXPECT_EQ(std::count(early.late.begin(), early.late.end(), 1), 0);
    pools.insert(pools.end(), early.nodes.begin(), early.nodes.end());
    run.step(0, index);
  }
  EXPECT_EQ(run.miner().telemetry().at("cache_events"), 120);
  EXPECT_EQ(run.miner().telemetry().at("cache_turnover"), 1);
  run.miner().end_epoch({.metric = 0.5});
  run.begin_epoch(1);
  const Tensor cached = run.miner().state().at(2).view({-1, kPool / 2});
  for (std::int64_t index = 0; index < run.batches(); ++index) {
    const Candidates late = run.propose(1, index);
    EXPECT_EQ(hard_ones(late), run.batch(index).size() * kPool / 2);
    EXPECT_EQ(std::count(late.late.begin(), late.late.end(), 1), run.batch(index).size());
    for (std::int64_t i = 0; i < run.batch(index).size(); ++i) {
      const std::int64_t event = index * MiningRun::kBatch + i;
      const auto first = pools.begin() + event * kPool;
      for (std::int64_t j = 0; j < kPool / 2; ++j) {
        const NodeId hard = late.nodes[static_cast<std::size_t>(i * kPool + j)];
        ASSERT_EQ(hard, cached[event][j].item<NodeId>());
        ASSERT_NE(std::find(first, first + kPool, hard), first + kPool) << "never in its pool";
      }
    }
    run.step(1, index);
  }
  const double turnover = run.miner().telemetry().at("cache_turnover");
  EXPECT_GT(turnover, 0);
  EXPECT_LT(turnover, 1);
}

TEST_F(CurnmMinerTest, WithoutTheCacheNothingIsHard) {
  for (const bool by_tau : {false, true}) {
    MiningRun run(network_, "jodie", "curnm", half_selected([&](CurnmOptions& o) {
                    if (by_tau) {
                      o.tau = 0.4;
                    } else {
                      o.ablate = Ablation::kCache;
                    }
                  }));
    run.run_epoch(0);
    run.run_epoch(1);
    run.begin_epoch(2);
    for (std::int64_t index = 0; index < run.batches(); ++index) {
      EXPECT_EQ(hard_ones(run.propose(2, index)), 0);
    }
    EXPECT_EQ(run.miner().telemetry().at("caching"), 0);
  }
}

// A deviation that counts a thousandfold leaves no weight to most candidates that were scored
// twice, so that others are kept.
TEST_F(CurnmMinerTest, AlphaDecidesWhatIsKept) {
  const auto cached = [&](double alpha) {
    MiningRun run(network_, "jodie", "curnm", half_selected([&](CurnmOptions& o) {
                    o.alpha_max = alpha;
                    o.alpha_epochs = 1;
                  }));
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) run.run_epoch(epoch);
    return run.miner().state().at(2);
  };
  EXPECT_TRUE(at::equal(cached(0), cached(0)));
  EXPECT_FALSE(at::equal(cached(0), cached(1000)));
}

TEST_F(CurnmMinerTest, GammaHistIsTheShareOfHistoricalOnes) {
  const MiningNetwork busy(random_log(2, {.nodes = 40, .events = 600, .distinct_times = 600}));
  const auto share = [&](double gamma) {
    const auto miner = busy.curnm(half_selected([&](CurnmOptions& o) { o.gamma_hist = gamma; }));
    miner->begin_epoch(0);
    const Candidates found = miner->propose(busy.batch(500, 540), Rng(1, Stream::kTest));
    return std::count(found.kinds.begin(), found.kinds.end(), CandidateKind::kHistorical);
  };
  EXPECT_EQ(share(0), 0);
  EXPECT_EQ(share(0.6), 40 * 5);
  EXPECT_EQ(share(1), 40 * 8);
}

/// pi of the epochs that follow these metrics.
Vector course_of_pi(const MiningNetwork& network, const CurnmOptions& options,
                    const Vector& metrics) {
  const auto miner = network.curnm(options);
  Vector course;
  for (double metric : metrics) {
    miner->end_epoch({.metric = metric});
    miner->begin_epoch(static_cast<std::int64_t>(course.size()) + 1);
    course.push_back(miner->telemetry().at("pi"));
  }
  return course;
}

TEST_F(CurnmMinerTest, PiFollowsTheValidation) {
  CurnmOptions options;
  options.pi = 0.75;
  options.shrink = 0.125;
  EXPECT_EQ(course_of_pi(network_, options, {0.5, 0.6, 0.5, 0.7}),
            (Vector{0.75, 0.625, 0.625, 0.5}));
  options.plateau = Plateau::kRaise;
  EXPECT_EQ(course_of_pi(network_, options, {0.5, 0.6, 0.5, 0.7}),
            (Vector{0.875, 0.75, 0.875, 0.75}));
  options.ablate = Ablation::kPi;
  EXPECT_EQ(course_of_pi(network_, options, {0.5, 0.6, 0.5, 0.7}), Vector(4, 0.75));
}

TEST_F(CurnmMinerTest, PiCanFollowTheTrainingInstead) {
  const auto course = [&](CurriculumMetric metric, double sign) {
    CurnmOptions options;
    options.curriculum_metric = metric;
    options.pi = 0.75;
    MiningRun run(network_, "jodie", "curnm", options);
    Vector pi;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      run.run_epoch(epoch, 0.5 + sign * 0.1 * static_cast<double>(epoch));
      run.begin_epoch(epoch + 1);
      pi.push_back(run.miner().telemetry().at("pi"));
    }
    return pi;
  };
  EXPECT_EQ(course(CurriculumMetric::kTraining, 1), course(CurriculumMetric::kTraining, -1))
      << "validation does not matter";
  EXPECT_NE(course(CurriculumMetric::kValidation, 1), course(CurriculumMetric::kValidation, -1));
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
    MiningRun run(network, "tgn", "curnm", half_selected());
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      run.begin_epoch(epoch);
      for (std::int64_t index = 0; index < run.batches(); ++index) {
        ASSERT_TRUE(std::isfinite(run.step(epoch, index).loss.item<double>()));
        for (const auto& item : run.miner().named_parameters()) {
          ASSERT_TRUE(at::isfinite(item.value()).all().item<bool>()) << item.key();
        }
      }
      run.miner().end_epoch({.metric = 0.5});
    }
  }
}

// As the note says.
TEST(CurnmDegenerateTest, WhereAllTimesAreEqualTheTemporalFactorHasNoEffect) {
  const ScopedThreads single(1);
  std::vector<Event> events = testing::events_of(distinct_log());
  for (Event& event : events) event.time = 5;
  const MiningNetwork network(make_log(events, 50));
  MiningRun whole(network, "jodie", "curnm", half_selected());
  MiningRun timeless(network, "jodie", "curnm",
                     half_selected([](CurnmOptions& o) { o.ablate = Ablation::kTemporal; }));
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
