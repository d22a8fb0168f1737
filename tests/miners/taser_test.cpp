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
using testing::Learner;
using testing::MiningNetwork;
using testing::random_log;
using testing::same_candidates;
using testing::ScopedThreads;

constexpr std::int64_t kEvents = 120;

EventLog small_log() {
  return random_log(1, {.nodes = 30, .events = kEvents, .distinct_times = 100});
}

std::vector<float> values(const torch::Tensor& x) {
  return {x.data_ptr<float>(), x.data_ptr<float>() + x.numel()};
}

/// A miner that finds every third event certain and the others impossible.
std::shared_ptr<NegativeMiner> partial(const MiningNetwork& network, double noise) {
  MinerOptions options;
  options.taser.taser_noise = noise;
  const auto miner = network.miner("taser", options);
  torch::Tensor confidence = torch::zeros({kEvents});
  for (std::int64_t e = 0; e < kEvents; e += 3) confidence[e] = 1.0F;
  miner->set_state({confidence, torch::ones({kEvents})});
  return miner;
}

// p = (c + gamma) / sum, c = 1 for 40 and 0 for 80 events, gamma = 0.1: the sum is 52.
TEST(TaserMinerTest, DrawsMatchTheConfidences) {
  const MiningNetwork network(small_log());
  const auto miner = partial(network, 0.1);
  std::vector<std::int64_t> counts(kEvents);
  for (std::int64_t epoch = 0; epoch < 300; ++epoch) {
    miner->begin_epoch(epoch);
    miner->end_epoch(0);
    const std::vector<float> drawn = values(miner->state().at(1));
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
  const MiningNetwork network(small_log());
  const auto share_of_certain = [&](double noise) {
    const auto miner = partial(network, noise);
    miner->begin_epoch(1);
    miner->end_epoch(0);
    const std::vector<float> drawn = values(miner->state().at(1));
    double certain = 0;
    for (std::size_t e = 0; e < drawn.size(); e += 3) certain += drawn[e];
    return certain / kEvents;
  };
  EXPECT_EQ(share_of_certain(1e-6), 1);
  EXPECT_NEAR(share_of_certain(1000), 1.0 / 3, 0.15);
}

/// A batch of given embeddings.
struct Scene {
  Scene(const MiningNetwork& network, std::int64_t begin, std::int64_t end)
      : batch(network.batch(begin, end)), decoder(kMiningWidth) {
    initialise(decoder, Rng(1, Stream::kTest));
  }
  Mined mine(NegativeMiner& miner) {
    candidates = miner.propose(batch, Rng(2, Stream::kTest));
    const BatchRoots roots(batch, candidates);
    torch::Tensor z = torch::empty({roots.roots().size(), kMiningWidth});
    keyed_uniform_(z, 3, Rng(3, Stream::kTest));
    return miner.mine(batch, candidates, Embedded(z, roots), decoder);
  }

  EventBatch batch;
  EdgeDecoder decoder;
  Candidates candidates;
};

TEST(TaserMinerTest, AnEventCountsAsOftenAsItWasDrawn) {
  const MiningNetwork network(small_log());
  MinerOptions options;
  options.plain.negatives = 2;
  const auto miner = network.miner("taser", options);
  torch::Tensor drawn = torch::zeros({kEvents});
  drawn[40] = 5.0F;  // before the batch
  drawn[50] = 1.0F;
  drawn[52] = 3.0F;
  miner->set_state({torch::zeros({kEvents}), drawn});
  Scene scene(network, 50, 54);
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
  const MiningNetwork network(small_log());
  const auto miner = network.miner("taser");
  miner->set_state({torch::zeros({kEvents}), torch::zeros({kEvents})});
  Scene scene(network, 50, 54);
  const Mined mined = scene.mine(*miner);
  EXPECT_EQ(mined.loss.item<double>(), 0);
  mined.loss.backward();
  for (const torch::Tensor& parameter : scene.decoder.parameters()) {
    EXPECT_EQ(parameter.grad().abs().max().item<double>(), 0);
  }
}

TEST(TaserMinerTest, TheFirstEpochIsThatOfRandom) {
  const MiningNetwork network(small_log());
  const auto taser = network.miner("taser");
  const auto random = network.miner("random");
  taser->begin_epoch(0);
  random->begin_epoch(0);
  Scene a(network, 50, 70);
  Scene b(network, 50, 70);
  const Mined of_taser = a.mine(*taser);
  const Mined of_random = b.mine(*random);
  EXPECT_TRUE(same_candidates(a.candidates, b.candidates));
  EXPECT_NEAR(of_taser.loss.item<double>(), of_random.loss.item<double>(), 1e-6);
}

TEST(TaserMinerTest, ConfidenceIsThatOfTheLastLogit) {
  const MiningNetwork network(small_log());
  const auto miner = network.miner("taser");
  Scene scene(network, 50, 54);
  const Mined mined = scene.mine(*miner);
  miner->observe(scene.batch, scene.candidates, mined);
  const std::vector<float> confidence = values(miner->state().at(0));
  for (std::int64_t e = 0; e < kEvents; ++e) {
    const float expected =
        e < 50 || e >= 54 ? 0 : torch::sigmoid(mined.positive_logits[e - 50]).item<float>();
    EXPECT_EQ(confidence[static_cast<std::size_t>(e)], expected) << "event " << e;
  }
}

// Batches stay as they are, so a model with memory sees every event, in the order of time.
TEST(TaserMinerTest, MemorySeesEveryEventInOrder) {
  const ScopedThreads single(1);
  const MiningNetwork network(small_log());
  MinerOptions options;
  Learner taser(network, "tgn", "taser", options);
  Learner random(network, "tgn", "random", options);
  taser.run_epoch(0);
  taser.begin_epoch(1);
  random.copy(taser);
  const std::vector<float> drawn = values(taser.miner().state().at(1));
  ASSERT_GT(std::count(drawn.begin(), drawn.end(), 0.0F), 20) << "many are not drawn";
  for (std::int64_t index = 0; index < taser.batches(); ++index) {
    taser.model().observe(taser.batch(index));
    random.model().observe(random.batch(index));
  }
  const auto one = taser.model().state();
  const auto other = random.model().state();
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], other[i]));
}

}  // namespace
}  // namespace curnm
