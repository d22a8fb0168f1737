#include "curnm/miners/curnm/telemetry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/curnm_scene.h"
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
using testing::naive_occurs;
using testing::random_log;
using testing::ScopedThreads;

TEST(CurnmTelemetryTest, TellsTheDifficulty) {
  const MiningNetwork network(distinct_log());
  const auto miner =
      network.curnm({.alpha_max = 0.5, .alpha_epochs = 4, .beta_epochs = 2, .delta_max = 0.875});
  miner->begin_epoch(0);
  EXPECT_EQ(miner->telemetry(), (std::map<std::string, double>{{"alpha", 0.125},
                                                               {"beta", 0.5},
                                                               {"cache_events", 0},
                                                               {"caching", 0},
                                                               {"delta", 0.875},
                                                               {"pi", 1}}));
}

TEST(CurnmTelemetryTest, MeasuresDescribeTheBatch) {
  const ScopedThreads single(1);  // such small steps are slower with more
  const MiningNetwork network(distinct_log());
  MiningRun run(network, "jodie", "curnm", half_selected());
  run.run_epoch(0);
  run.begin_epoch(1);
  const Candidates candidates = run.propose(1, 2);
  const Mined mined = run.look(1, 2, candidates);
  EXPECT_EQ(mined.measures.at("pool_hard"), 0.5);
  for (const char* of : {"pool_", "selected_"}) {
    const std::string name = of;
    EXPECT_NEAR(mined.measures.at(name + "hard") + mined.measures.at(name + "historical") +
                    mined.measures.at(name + "random"),
                1, 1e-12);
  }
  for (const char* share : {"score_hard", "score_random", "positive_gate", "negative_gate",
                            "training_auc", "false_negative_share"}) {
    EXPECT_GE(mined.measures.at(share), 0) << share;
    EXPECT_LE(mined.measures.at(share), 1) << share;
  }
  ASSERT_TRUE(mined.training_auc.has_value());
  EXPECT_EQ(*mined.training_auc, mined.measures.at("training_auc"));
  EXPECT_EQ(mined.losses.size(), 4u);
}

TEST(CurnmTelemetryTest, TrainingAucOfABatch) {
  EXPECT_EQ(training_auc(at::tensor({2.0F, 1.0F}), at::tensor({0.0F, -1.0F})), 1);
  // Ranked: positive, random, positive: one of two pairs is in order.
  EXPECT_NEAR(training_auc(at::tensor({2.0F, 0.0F}), at::tensor({1.0F})), 0.5, 1e-6);
  EXPECT_TRUE(std::isnan(training_auc(at::tensor({NAN}), at::tensor({1.0F}))));
}

TEST(CurnmTelemetryTest, SharesAndScoresByKind) {
  const Candidates candidates{.width = 2,
                              .nodes = {1, 2, 3, 4},
                              .kinds = {CandidateKind::kRandom, CandidateKind::kHistorical,
                                        CandidateKind::kRandom, CandidateKind::kRandom}};
  std::map<std::string, double> measures;
  const float ln3 = std::log(3.0F);
  describe_pool(candidates, std::vector<std::int64_t>{1, 3}, at::tensor({0.0F, ln3, -ln3, ln3}),
                measures);
  EXPECT_EQ(measures.at("pool_random"), 0.75);
  EXPECT_EQ(measures.at("pool_historical"), 0.25);
  EXPECT_EQ(measures.at("pool_hard"), 0);
  EXPECT_EQ(measures.at("selected_random"), 0.5);
  EXPECT_EQ(measures.at("selected_historical"), 0.5);
  EXPECT_EQ(measures.at("selected_hard"), 0);
  EXPECT_NEAR(measures.at("score_random"), (0.5 + 0.25 + 0.75) / 3, 1e-6);
  EXPECT_NEAR(measures.at("score_historical"), 0.75, 1e-6);
  EXPECT_FALSE(measures.contains("score_hard"));
}

TEST(CurnmTelemetryTest, FalseNegativesMatchLoops) {
  const MiningNetwork network(random_log(8, {.nodes = 12, .events = 160, .distinct_times = 60}));
  const auto miner = network.curnm();
  miner->begin_epoch(0);
  double found_some = 0;
  for (std::int64_t begin = 0; begin < 160; begin += 40) {
    const EventBatch batch = network.batch(begin, begin + 40);
    const Candidates candidates = miner->propose(batch, Rng(1, Stream::kTest));
    std::vector<std::int64_t> chosen;
    for (std::int64_t at = 0; at < 40 * kPool; at += 3) chosen.push_back(at);
    const Timestamp horizon = network.log.time[std::min<EventId>(begin + 80, 160) - 1];
    double count = 0;
    for (std::int64_t at : chosen) {
      const auto row = static_cast<std::size_t>(at / kPool);
      const NodeId v = candidates.nodes[static_cast<std::size_t>(at)];
      if (naive_occurs(network.log, batch.src[row], v, batch.time[row], horizon)) ++count;
    }
    EXPECT_EQ(false_negative_share(batch, candidates, chosen, network.log, network.indices.pairs),
              count / static_cast<double>(chosen.size()));
    found_some += count;
  }
  EXPECT_GT(found_some, 0);
}

std::string all_notes(const MiningNetwork& network, std::int64_t epochs = 60,
                      const CurnmOptions& options = {}) {
  std::string text;
  for (const std::string& note : network.curnm(options, epochs)->notes()) {
    text += note + "\n";
  }
  return text;
}

TEST(CurnmNotesTest, SayWhatCannotWork) {
  EXPECT_EQ(all_notes(MiningNetwork(distinct_log())), "");
  const MiningNetwork few(make_log({{0, 1, 1}, {0, 2, 2}, {0, 3, 3}}, 4));
  EXPECT_NE(all_notes(few).find("3 destinations for pools of M = 8"), std::string::npos);
  std::vector<Event> events = testing::events_of(distinct_log());
  for (Event& event : events) event.time = 5;
  const MiningNetwork timeless(make_log(events, 50));
  EXPECT_NE(all_notes(timeless).find("same time"), std::string::npos);
}

// Of 60 epochs eleven have to make progress until pi is 0.5; the first has nothing to exceed.
TEST(CurnmNotesTest, SayWhereThereIsNoTimeForHardNegatives) {
  const MiningNetwork network(distinct_log());
  EXPECT_NE(all_notes(network, 11).find("pi will not fall below 0.55 in 11 epoch(s)"),
            std::string::npos);
  EXPECT_EQ(all_notes(network, 12), "");
  EXPECT_EQ(all_notes(network, 6, {.tau = 0.8}), "");
  EXPECT_NE(all_notes(network, 5, {.tau = 0.8}), "");
  EXPECT_EQ(all_notes(network, 2, {.ablate = Ablation::kCache}), "") << "none are wanted";
  EXPECT_EQ(all_notes(network, 2, {.ablate = Ablation::kPi}), "") << "pi is 0.5 from the start";
}

}  // namespace
}  // namespace curnm
