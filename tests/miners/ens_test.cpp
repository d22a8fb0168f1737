#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/chi_square.h"
#include "support/mining.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::as_frequent_as;
using testing::Event;
using testing::make_log;
using testing::MiningNetwork;
using testing::mirrored;
using testing::naive_history;
using testing::naive_occurs;
using testing::random_log;

constexpr std::int64_t kEpochs = 8;

GivenOptions ens(const char* pacing = "linear", double start = 0.25, std::int64_t negatives = 4) {
  return {{"negatives", std::to_string(negatives)},
          {"ens-pacing", pacing},
          {"ens-start", fmt::format("{}", start)}};
}

double difficulty(const MiningNetwork& network, const char* pacing, double start,
                  std::int64_t epoch) {
  const auto miner = network.miner("ens", ens(pacing, start), kEpochs);
  miner->begin_epoch(epoch);
  return miner->telemetry().at("difficulty");
}

TEST(EnsMinerTest, PacingLiteralValues) {
  const MiningNetwork network(random_log(1));
  EXPECT_EQ(difficulty(network, "linear", 0.25, 0), 0.25);
  EXPECT_EQ(difficulty(network, "linear", 0.25, 4), 0.75);
  EXPECT_EQ(difficulty(network, "linear", 0.25, 7), 1) << "not above 1";
  EXPECT_EQ(difficulty(network, "geometric", 0.25, 0), 0.25);
  EXPECT_NEAR(difficulty(network, "geometric", 0.25, 4), 0.5, 1e-12);
  EXPECT_NEAR(difficulty(network, "geometric", 0.0625, 6), 0.5, 1e-12);
  EXPECT_NEAR(difficulty(network, "root", 0.5, 0), 0.5, 1e-12);
  EXPECT_NEAR(difficulty(network, "root", 0.5, 6), std::sqrt(0.25 + 0.75 * 0.75), 1e-12);
}

/// A busy network: every source of the last events has a past.
MiningNetwork busy_network() {
  return MiningNetwork(random_log(2, {.nodes = 20, .events = 400, .distinct_times = 200}));
}

// Each candidate is historical with the probability g, independently of the others.
TEST(EnsMinerTest, TheShareOfHistoricalOnesIsTheDifficulty) {
  const MiningNetwork network = busy_network();
  const EventLog links = mirrored(network.log);
  const auto miner = network.miner("ens", ens(), kEpochs);
  const EventBatch batch = network.batch(300, 332);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    miner->begin_epoch(epoch);
    const double share = std::min(0.25 + static_cast<double>(epoch) / 8, 1.0);
    std::vector<std::int64_t> counts(2);   // of random and of historical ones
    std::vector<std::int64_t> slots(128);  // how often each is a historical one
    constexpr std::int64_t kDraws = 200;
    for (std::uint64_t key = 0; key < kDraws; ++key) {
      const Candidates found = miner->propose(batch, Rng(key, Stream::kTest));
      for (std::size_t slot = 0; slot < found.nodes.size(); ++slot) {
        const bool historical = found.kinds[slot] == CandidateKind::kHistorical;
        ++counts[historical ? 1 : 0];
        if (!historical) continue;
        ++slots[slot];
        if (key > 0) continue;
        const auto history = naive_history(links, batch.src[slot / 4], batch.time[slot / 4]);
        ASSERT_TRUE(history.contains(found.nodes[slot])) << "not a former partner of its source";
      }
    }
    if (share == 1) {
      EXPECT_EQ(counts[0], 0);
      continue;
    }
    EXPECT_TRUE(as_frequent_as(counts, {1 - share, share})) << "epoch " << epoch;
    // Five standard deviations around the mean of each slot.
    const double spread = 5 * std::sqrt(kDraws * share * (1 - share));
    for (const std::int64_t count : slots) {
      EXPECT_NEAR(static_cast<double>(count), kDraws * share, spread) << "epoch " << epoch;
    }
  }
}

TEST(EnsMinerTest, WithoutAPastAllAreRandom) {
  const MiningNetwork network = busy_network();
  const auto miner = network.miner("ens", ens("linear", 1), kEpochs);
  miner->begin_epoch(0);
  const Candidates found = miner->propose(network.batch(0, 2), Rng(1, Stream::kTest));
  EXPECT_EQ(std::count(found.kinds.begin(), found.kinds.end(), CandidateKind::kRandom), 8);
}

/// Source 0 met 1 .. 5 at times 0, 25, 50, 75 and 100, the first of them again at 90; it meets 6 at
/// 110. Ages by last event are 20, 85, 60, 35 and 10; by first event 110, 85, 60, 35 and 10.
MiningNetwork aged() {
  return MiningNetwork(make_log({{0, 1, 0},
                                 {0, 2, 25},
                                 {0, 3, 50},
                                 {0, 4, 75},
                                 {0, 1, 90},
                                 {0, 5, 100},
                                 {0, 6, 110},
                                 {7, 6, 111}},
                                8));
}

/// How often each node is a historical candidate for the given event.
std::vector<std::int64_t> frequencies(const MiningNetwork& network, const GivenOptions& options,
                                      std::int64_t begin, std::int64_t end) {
  const auto miner = network.miner("ens", options, kEpochs);
  miner->begin_epoch(0);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(network.log.num_nodes));
  for (std::uint64_t key = 0; key < 40; ++key) {
    const Candidates found = miner->propose(network.batch(begin, end), Rng(key, Stream::kTest));
    for (std::size_t slot = 0; slot < found.nodes.size(); ++slot) {
      if (found.kinds[slot] == CandidateKind::kHistorical) {
        ++counts[static_cast<std::size_t>(found.nodes[slot])];
      }
    }
  }
  return counts;
}

/// Probabilities of ages by the paper's weight: 1 - |(1 - difficulty) - x|, x from 0 (the youngest)
/// to 1 (the oldest).
std::vector<double> probabilities(double difficulty, const std::vector<double>& ages,
                                  double youngest, double oldest) {
  std::vector<double> weights;
  double sum = 0;
  for (double age : ages) {
    const double x = (age - youngest) / (oldest - youngest);
    weights.push_back(1 - std::abs(1 - difficulty - x));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

TEST(EnsMinerTest, EarlyTheOldestAreFavouredLateTheMostRecent) {
  const MiningNetwork network = aged();
  for (const double start : {0.1, 0.5, 0.9}) {
    const auto counts = frequencies(network, ens("linear", start, 1000), 6, 7);
    EXPECT_EQ(counts[6], 0) << "the partner at the time";
    EXPECT_TRUE(as_frequent_as({counts.begin() + 1, counts.begin() + 6},
                               probabilities(start, {20, 85, 60, 35, 10}, 10, 85)))
        << start;
    if (start < 0.5) {
      EXPECT_GT(counts[2], counts[5]);
    }
    if (start > 0.5) {
      EXPECT_LT(counts[2], counts[5]);
    }
  }
}

TEST(EnsMinerTest, AgesCanBeOfTheFirstEvent) {
  GivenOptions options = ens("linear", 0.2, 1000);
  options["ens-time"] = "first";
  const auto counts = frequencies(aged(), options, 6, 7);
  EXPECT_TRUE(as_frequent_as({counts.begin() + 1, counts.begin() + 6},
                             probabilities(0.2, {110, 85, 60, 35, 10}, 10, 110)));
}

/// Pairs of many sources, each with its own destination 10 .. 17; then a batch of two events, from
/// time 100 on, in which one of the pairs occurs again.
MiningNetwork strangers() {
  std::vector<Event> events;
  for (NodeId i = 0; i < 8; ++i) events.push_back({i, 10 + i, 10.0 * i});
  events.push_back({0, 10, 80});
  events.push_back({8, 18, 100});
  events.push_back({3, 13, 101});
  return MiningNetwork(make_log(events, 20));
}

// Of anyone's former pairs, by their last event and from the beginning of the batch; the pair that
// occurs within the batch is left out.
TEST(EnsMinerTest, HistoricalOnesCanBeOfAnyone) {
  GivenOptions options = ens("linear", 0.25, 1000);
  options["ens-pairing"] = "batch";
  const auto counts = frequencies(strangers(), options, 9, 11);
  EXPECT_EQ(counts[13], 0) << "occurs within the batch";
  EXPECT_EQ(counts[18], 0) << "has no event before the batch";
  // Ages from 0 (the batch) to 100 (the first event of all).
  std::vector<double> expected = probabilities(0.25, {20, 90, 80, 60, 50, 40, 30}, 0, 100);
  EXPECT_TRUE(as_frequent_as(
      {counts[10], counts[11], counts[12], counts[14], counts[15], counts[16], counts[17]},
      expected));

  options["ens-time"] = "first";
  const auto first = frequencies(strangers(), options, 9, 11);
  // Ages from 0 (the newest pair) to 70.
  expected = probabilities(0.25, {70, 60, 50, 30, 20, 10, 0}, 0, 70);
  EXPECT_TRUE(as_frequent_as(
      {first[10], first[11], first[12], first[14], first[15], first[16], first[17]}, expected));
}

TEST(EnsMinerTest, BothPairingsAvoidEventsOfTheSourceAtTheTime) {
  const MiningNetwork network(
      random_log(5, {.nodes = 12, .events = 200, .distinct_times = 20, .bipartite = true}));
  for (const char* pairing : {"source", "batch"}) {
    GivenOptions options = ens("linear", 0.9);
    options["ens-pairing"] = pairing;
    const auto miner = network.miner("ens", options, kEpochs);
    miner->begin_epoch(0);
    for (std::int64_t begin = 0; begin < 200; begin += 25) {
      const EventBatch batch = network.batch(begin, begin + 25);
      const Candidates found = miner->propose(batch, Rng(1, Stream::kTest));
      for (std::size_t slot = 0; slot < found.nodes.size(); ++slot) {
        const NodeId u = batch.src[slot / 4];
        const Timestamp t = batch.time[slot / 4];
        bool exists = false;
        for (NodeId v : network.destinations) exists |= !naive_occurs(network.log, u, v, t, t);
        EXPECT_TRUE(!exists || !naive_occurs(network.log, u, found.nodes[slot], t, t));
      }
    }
  }
}

}  // namespace
}  // namespace curnm
