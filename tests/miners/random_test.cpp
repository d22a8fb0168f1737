#include <gtest/gtest.h>

#include <set>

#include "curnm/curriculum/pool.h"
#include "curnm/miners/random_pairs.h"
#include "support/mining.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::MiningNetwork;
using testing::random_log;

class RandomPairsTest : public ::testing::Test {
 protected:
  // Dense: a pair that is drawn carelessly is an event every few times.
  const MiningNetwork network_{random_log(3, {.nodes = 12, .events = 600, .distinct_times = 10})};

  ExtraPairs draw(const char* corrupt, const EventBatch& batch, std::int64_t count) const {
    return RandomPairs(network_.context(), corrupt).draw(batch, count, Rng(1, Stream::kTest));
  }

  /// For each pair: does it keep the source of its positive?
  std::vector<bool> keeps_source(const char* corrupt, std::int64_t count) const {
    const EventBatch batch = network_.batch(0, 100);
    const ExtraPairs pairs = draw(corrupt, batch, count);
    EXPECT_EQ(pairs.size(), count);
    std::vector<bool> keeps;
    for (std::size_t x = 0; x < pairs.rows.size(); ++x) {
      keeps.push_back(pairs.src[x] == batch.src[static_cast<std::size_t>(pairs.rows[x])]);
    }
    return keeps;
  }
};

// One of twelve sources is the positive's own by chance.
TEST_F(RandomPairsTest, CorruptSaysWhichEndsAreReplaced) {
  for (const std::int64_t count : {400, 100, 60}) {
    const auto all = static_cast<double>(count);
    const auto kept = [&](const char* corrupt) {
      const std::vector<bool> keeps = keeps_source(corrupt, count);
      return static_cast<double>(std::count(keeps.begin(), keeps.end(), true));
    };
    EXPECT_EQ(kept("destination"), all);
    EXPECT_NEAR(kept("half"), all / 2 + all / 24, 0.06 * all) << count;
    EXPECT_NEAR(kept("both"), all / 12, 0.09 * all) << count;
  }
}

TEST_F(RandomPairsTest, PairsAreNoEventsAtTheirTime) {
  const EventBatch batch = network_.batch(200, 300);
  for (const char* corrupt : {"destination", "half", "both"}) {
    const ExtraPairs pairs = draw(corrupt, batch, 800);
    std::vector<std::int64_t> counts(100);
    for (std::size_t x = 0; x < pairs.rows.size(); ++x) {
      const auto row = static_cast<std::size_t>(pairs.rows[x]);
      ++counts[row];
      EXPECT_FALSE(network_.pairs.occurs_at(pairs.src[x], pairs.dst[x], batch.time[row]))
          << corrupt;
    }
    EXPECT_EQ(counts, std::vector<std::int64_t>(100, 8)) << "spread evenly over the positives";
  }
}

TEST_F(RandomPairsTest, APositiveHasOneOtherSourceAtMost) {
  const EventBatch batch = network_.batch(200, 300);
  for (const char* corrupt : {"half", "both"}) {
    const ExtraPairs pairs = draw(corrupt, batch, 800);
    std::vector<std::set<NodeId>> others(100);
    std::set<NodeId> all;
    for (std::size_t x = 0; x < pairs.rows.size(); ++x) {
      const auto row = static_cast<std::size_t>(pairs.rows[x]);
      if (pairs.src[x] != batch.src[row]) others[row].insert(pairs.src[x]);
      all.insert(pairs.src[x]);
    }
    for (const std::set<NodeId>& sources : others) EXPECT_LE(sources.size(), 1) << corrupt;
    EXPECT_GT(all.size(), 8) << "over the batch they vary";
  }
}

// Three random candidates per positive, and two pairs of either source.
TEST(RandomPairsAndPool, DrawMostlyTheSameNodesWithOneKey) {
  const MiningNetwork network(random_log(4, {.nodes = 300, .events = 900}));
  const EventBatch batch = network.batch(700, 800);
  const MinerContext context = network.context();
  const Rng key(1, Stream::kTest);
  const Candidates pool =
      NegativePool(context.partners, context.graph, context.destinations, 8, 0.6)
          .build(batch, nullptr, key);
  const ExtraPairs pairs = RandomPairs(context, "half").draw(batch, 400, key);
  int shared = 0;
  for (std::size_t x = 0; x < 400; ++x) {
    const auto candidates =
        std::span(pool.nodes).subspan(static_cast<std::size_t>(pairs.rows[x]) * 8, 8);
    shared += std::find(candidates.begin(), candidates.end(), pairs.dst[x]) != candidates.end();
  }
  EXPECT_GT(shared, 390);
}

// Although the positive's source draws with the same key, and may not have its partners.
TEST_F(RandomPairsTest, DestinationsOfTheOtherSourceAreUniform) {
  const EventBatch batch = network_.batch(0, 600);
  double partners = 0;
  double expected = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ExtraPairs pairs =
        RandomPairs(network_.context(), "half").draw(batch, 2400, Rng(seed, Stream::kTest));
    for (std::size_t x = 0; x < pairs.rows.size(); ++x) {
      const auto row = static_cast<std::size_t>(pairs.rows[x]);
      const auto occurs = [&](NodeId u, NodeId v) {
        return network_.pairs.occurs_at(u, v, batch.time[row]);
      };
      const NodeId u = batch.src[row];
      const NodeId other = pairs.src[x];
      if (other == u) continue;
      double allowed = 0;
      double of_both = 0;
      for (NodeId v : network_.destinations) {
        allowed += occurs(other, v) ? 0 : 1;
        of_both += occurs(u, v) && !occurs(other, v) ? 1 : 0;
      }
      expected += of_both / allowed;
      partners += occurs(u, pairs.dst[x]) ? 1 : 0;
    }
  }
  EXPECT_GT(expected, 1000);
  EXPECT_NEAR(partners / expected, 1, 0.05);
}

TEST_F(RandomPairsTest, LeftOpenTheMinerOrThePresetDecides) {
  for (const CurnmPreset& preset : curnm_presets()) {
    const MinerOptions options = resolved("curnm", preset.options, /*epochs=*/10);
    EXPECT_EQ(options.corruption.corrupt, preset.name == "paper" ? "half" : "destination");
    EXPECT_EQ(options.curnm.plateau, preset.name == "published" ? "raise" : "hold");
  }
  EXPECT_EQ(resolved("curnm", {}, /*epochs=*/10).corruption.corrupt, "half");
  EXPECT_EQ(resolved("random", {}, /*epochs=*/10).corruption.corrupt, "destination");
  EXPECT_EQ(resolved("curnm", {.corruption = {"both"}}, /*epochs=*/10).corruption.corrupt, "both");
}

// The mean over positives, and over negatives with their own sources.
TEST_F(RandomPairsTest, TheRandomMinerLearnsFromPairsOfOtherSources) {
  MinerOptions options;
  options.corruption.corrupt = "both";
  options.plain.negatives = 2;
  const auto miner = network_.miner("random", options);
  const EventBatch batch = network_.batch(0, 30);
  const Candidates found = miner->propose(batch, Rng(1, Stream::kTest));
  ASSERT_EQ(found.extra.size(), 60);
  const BatchRoots roots(batch, found);
  const Embedded z(torch::arange(roots.roots().size() * testing::kMiningWidth, torch::kFloat32)
                       .sin()
                       .view({-1, testing::kMiningWidth}),
                   roots);
  EdgeDecoder decoder(testing::kMiningWidth);
  const Mined mined = miner->mine(batch, found, z, decoder);
  const LinkFunction link = decoder.function();
  double loss = 0;
  for (std::int64_t x = 0; x < 60; ++x) {
    const torch::Tensor source = z.rows(z.sources).index_select(0, z.extra_source[x].view(1));
    const torch::Tensor destination = z.z[z.extra_dst[x].item<std::int64_t>()].unsqueeze(0);
    const torch::Tensor logit = link.logit(link.source(source), link.destination(destination));
    loss += std::log1p(std::exp(logit.item<double>())) / 60;
  }
  EXPECT_NEAR(mined.losses.at("negative"), loss, 1e-5);
}

}  // namespace
}  // namespace curnm
