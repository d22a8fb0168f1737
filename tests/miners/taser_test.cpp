#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/chi_square.h"
#include "support/mining.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::as_frequent_as;
using testing::kMiningWidth;
using testing::MiningNetwork;
using testing::MiningRun;
using testing::random_log;
using testing::same_candidates;
using testing::ScopedThreads;

constexpr std::int64_t kEvents = 120;

EventLog taser_log() {
  return random_log(1, {.nodes = 30, .events = kEvents, .distinct_times = 100});
}

std::vector<float> floats(const Tensor& x) {
  return {x.data_ptr<float>(), x.data_ptr<float>() + x.numel()};
}

/// A miner that finds every third event certain and the others impossible.
std::shared_ptr<NegativeMiner> partial(const MiningNetwork& network, double noise) {
  const auto miner = network.miner("taser", {{"taser-noise", fmt::format("{}", noise)}});
  Tensor confidence = at::zeros({kEvents});
  for (std::int64_t e = 0; e < kEvents; e += 3) confidence[e] = 1.0F;
  miner->set_state({confidence, at::ones({kEvents})});
  return miner;
}

// p = (c + gamma) / sum, c = 1 for 40 and 0 for 80 events, gamma = 0.1: the sum is 52.
TEST(TaserMinerTest, DrawsMatchTheConfidences) {
  const MiningNetwork network(taser_log());
  const auto miner = partial(network, 0.1);
  std::vector<std::int64_t> counts(kEvents);
  for (std::int64_t epoch = 0; epoch < 300; ++epoch) {
    miner->begin_epoch(epoch);
    miner->end_epoch({.metric = 0});
    const std::vector<float> drawn = floats(miner->state().at(1));
    ASSERT_EQ(std::accumulate(drawn.begin(), drawn.end(), 0.0), kEvents) << "as many as there are";
    for (std::size_t e = 0; e < drawn.size(); ++e) {
      counts[e] += static_cast<std::int64_t>(drawn[e]);
    }
  }
  std::vector<double> probabilities;
  for (std::int64_t e = 0; e < kEvents; ++e) {
    probabilities.push_back((e % 3 == 0 ? 1.1 : 0.1) / 52);
  }
  EXPECT_TRUE(as_frequent_as(counts, probabilities));
}

TEST(TaserMinerTest, NoiseKeepsTheOthersIn) {
  const MiningNetwork network(taser_log());
  const auto share_of_certain = [&](double noise) {
    const auto miner = partial(network, noise);
    miner->begin_epoch(1);
    miner->end_epoch({.metric = 0});
    const std::vector<float> drawn = floats(miner->state().at(1));
    double certain = 0;
    for (std::size_t e = 0; e < drawn.size(); e += 3) certain += drawn[e];
    return certain / kEvents;
  };
  EXPECT_EQ(share_of_certain(1e-6), 1);
  EXPECT_NEAR(share_of_certain(1000), 1.0 / 3, 0.15);
}

/// A batch of given embeddings.
struct GivenBatch {
  GivenBatch(const MiningNetwork& network, std::int64_t begin, std::int64_t end)
      : batch(network.batch(begin, end)) {}
  Mined mine(NegativeMiner& miner) {
    candidates = miner.propose(batch, Rng(2, Stream::kTest));
    const Links links(batch, candidates);
    const Tensor z = at::empty({links.roots().size(), kMiningWidth});
    keyed_uniform_(z, 3, Rng(3, Stream::kTest));
    return miner.mine(batch, candidates, {links, z}, *decoder);
  }

  EventBatch batch;
  std::shared_ptr<Decoder> decoder =
      make_decoder("additive", decoders().at("additive").defaults, {.width = kMiningWidth});
  Candidates candidates;
};

TEST(TaserMinerTest, AnEventCountsAsOftenAsItWasDrawn) {
  const MiningNetwork network(taser_log());
  const auto miner = network.miner("taser", {{"negatives", "2"}});
  Tensor drawn = at::zeros({kEvents});
  drawn[40] = 5.0F;  // before the batch
  drawn[50] = 1.0F;
  drawn[52] = 3.0F;
  miner->set_state({at::zeros({kEvents}), drawn});
  GivenBatch scene(network, 50, 54);
  const Mined mined = scene.mine(*miner);
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  const auto positive = [&](std::int64_t i) {
    return softplus(-mined.positive_logits[i].item<double>());
  };
  const auto negative = [&](std::int64_t i) {
    return (softplus(mined.candidate_logits[2 * i].item<double>()) +
            softplus(mined.candidate_logits[2 * i + 1].item<double>())) /
           2;
  };
  EXPECT_NEAR(mined.losses.at("positive"), 0.25 * positive(0) + 0.75 * positive(2), 1e-5);
  EXPECT_NEAR(mined.losses.at("negative"), 0.25 * negative(0) + 0.75 * negative(2), 1e-5);
  EXPECT_NEAR(mined.loss.item<double>(), mined.losses.at("positive") + mined.losses.at("negative"),
              1e-5);
  EXPECT_EQ(mined.measures.at("distinct_share"), 0.5);
}

TEST(TaserMinerTest, ABatchOfWhichNothingWasDrawnTeachesNothing) {
  const MiningNetwork network(taser_log());
  const auto miner = network.miner("taser");
  miner->set_state({at::zeros({kEvents}), at::zeros({kEvents})});
  GivenBatch scene(network, 50, 54);
  const Mined mined = scene.mine(*miner);
  EXPECT_EQ(mined.loss.item<double>(), 0);
  mined.loss.backward();
  for (const Tensor& parameter : scene.decoder->parameters()) {
    EXPECT_EQ(parameter.grad().abs().max().item<double>(), 0);
  }
}

TEST(TaserMinerTest, TheFirstEpochIsThatOfRandom) {
  const MiningNetwork network(taser_log());
  const auto taser = network.miner("taser");
  const auto random = network.miner("random");
  taser->begin_epoch(0);
  random->begin_epoch(0);
  GivenBatch a(network, 50, 70);
  GivenBatch b(network, 50, 70);
  const Mined of_taser = a.mine(*taser);
  const Mined of_random = b.mine(*random);
  EXPECT_TRUE(same_candidates(a.candidates, b.candidates));
  EXPECT_NEAR(of_taser.loss.item<double>(), of_random.loss.item<double>(), 1e-6);
}

TEST(TaserMinerTest, ConfidenceIsThatOfTheLastLogit) {
  const MiningNetwork network(taser_log());
  const auto miner = network.miner("taser");
  GivenBatch scene(network, 50, 54);
  const Mined mined = scene.mine(*miner);
  miner->observe(scene.batch, scene.candidates, mined);
  const std::vector<float> confidence = floats(miner->state().at(0));
  for (std::int64_t e = 0; e < kEvents; ++e) {
    const float expected =
        e < 50 || e >= 54 ? 0 : at::sigmoid(mined.positive_logits[e - 50]).item<float>();
    EXPECT_EQ(confidence[static_cast<std::size_t>(e)], expected) << "event " << e;
  }
}

// Batches stay as they are, so a model with memory sees every event, in the order of time.
TEST(TaserMinerTest, MemorySeesEveryEventInOrder) {
  const ScopedThreads single(1);
  const MiningNetwork network(taser_log());
  MiningRun taser(network, "tgn", "taser", miners().at("taser").defaults);
  MiningRun random(network, "tgn", "random", miners().at("random").defaults);
  taser.run_epoch(0);
  taser.begin_epoch(1);
  random.copy(taser);
  const std::vector<float> drawn = floats(taser.miner().state().at(1));
  ASSERT_GT(std::count(drawn.begin(), drawn.end(), 0.0F), 20) << "many are not drawn";
  for (std::int64_t index = 0; index < taser.batches(); ++index) {
    taser.model().observe(taser.batch(index));
    random.model().observe(random.batch(index));
  }
  const auto one = taser.model().state();
  const auto other = random.model().state();
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], other[i]));
}

}  // namespace
}  // namespace curnm
