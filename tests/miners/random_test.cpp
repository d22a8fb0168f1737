#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "curnm/curriculum/pool.h"
#include "curnm/graph/distinct_nodes.h"
#include "curnm/sampling/random_pairs.h"
#include "support/decoders.h"
#include "support/mining.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::MiningNetwork;
using testing::random_log;

RandomPairs pairs_of(const MiningNetwork& network, Corruption corrupt) {
  return {&network.indices.pairs, network.destinations,
          distinct_nodes({network.log.src.begin(), network.log.src.end()}), corrupt};
}

class RandomPairsTest : public ::testing::Test {
 protected:
  // Dense: a pair that is drawn carelessly is an event every few times.
  const MiningNetwork network_{random_log(3, {.nodes = 12, .events = 600, .distinct_times = 10})};

  ExtraPairs draw(Corruption corrupt, const EventBatch& batch, std::int64_t count) const {
    return pairs_of(network_, corrupt).draw(batch, count, Rng(1, Stream::kTest));
  }

  /// For each pair: does it keep the source of its positive?
  std::vector<bool> keeps_source(Corruption corrupt, std::int64_t count) const {
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
    const auto kept = [&](Corruption corrupt) {
      const std::vector<bool> keeps = keeps_source(corrupt, count);
      return static_cast<double>(std::count(keeps.begin(), keeps.end(), true));
    };
    EXPECT_EQ(kept(Corruption::kDestination), all);
    EXPECT_NEAR(kept(Corruption::kHalf), all / 2 + all / 24, 0.06 * all) << count;
    EXPECT_NEAR(kept(Corruption::kBoth), all / 12, 0.09 * all) << count;
  }
}

TEST_F(RandomPairsTest, PairsAreNoEventsAtTheirTime) {
  const EventBatch batch = network_.batch(200, 300);
  for (const Corruption corrupt :
       {Corruption::kDestination, Corruption::kHalf, Corruption::kBoth}) {
    const ExtraPairs pairs = draw(corrupt, batch, 800);
    std::vector<std::int64_t> counts(100);
    for (std::size_t x = 0; x < pairs.rows.size(); ++x) {
      const auto row = static_cast<std::size_t>(pairs.rows[x]);
      ++counts[row];
      EXPECT_FALSE(network_.indices.pairs.occurs_at(pairs.src[x], pairs.dst[x], batch.time[row]))
          << name_of(corrupt);
    }
    EXPECT_EQ(counts, std::vector<std::int64_t>(100, 8)) << "spread evenly over the positives";
  }
}

TEST_F(RandomPairsTest, APositiveHasOneOtherSourceAtMost) {
  const EventBatch batch = network_.batch(200, 300);
  for (const Corruption corrupt : {Corruption::kHalf, Corruption::kBoth}) {
    const ExtraPairs pairs = draw(corrupt, batch, 800);
    std::vector<std::set<NodeId>> others(100);
    std::set<NodeId> all;
    for (std::size_t x = 0; x < pairs.rows.size(); ++x) {
      const auto row = static_cast<std::size_t>(pairs.rows[x]);
      if (pairs.src[x] != batch.src[row]) others[row].insert(pairs.src[x]);
      all.insert(pairs.src[x]);
    }
    for (const std::set<NodeId>& sources : others) EXPECT_LE(sources.size(), 1) << name_of(corrupt);
    EXPECT_GT(all.size(), 8) << "over the batch they vary";
  }
}

// Three random candidates per positive, and two pairs of either source.
TEST(RandomPairsAndPool, DrawMostlyTheSameNodesWithOneKey) {
  const MiningNetwork network(random_log(4, {.nodes = 300, .events = 900}));
  const EventBatch batch = network.batch(700, 800);
  const Rng key(1, Stream::kTest);
  const Candidates pool =
      NegativePool(&network.indices.partners, &network.indices.graph, network.destinations, 8, 0.6)
          .build(batch, nullptr, key);
  const ExtraPairs pairs = pairs_of(network, Corruption::kHalf).draw(batch, 400, key);
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
        pairs_of(network_, Corruption::kHalf).draw(batch, 2400, Rng(seed, Stream::kTest));
    for (std::size_t x = 0; x < pairs.rows.size(); ++x) {
      const auto row = static_cast<std::size_t>(pairs.rows[x]);
      const auto occurs = [&](NodeId u, NodeId v) {
        return network_.indices.pairs.occurs_at(u, v, batch.time[row]);
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
  for (const Preset& preset : miners().at("curnm").presets) {
    const Options options = testing::options_of(miners(), "curnm", preset.options);
    const CurnmOptions& curnm = options.as<CurnmOptions>();
    const bool as_printed = preset.name == "as-printed";
    EXPECT_EQ(curnm.corrupt,
              preset.name == "default" ? Corruption::kHalf : Corruption::kDestination);
    EXPECT_EQ(curnm.plateau, as_printed ? Plateau::kRaise : Plateau::kHold);
    EXPECT_EQ(curnm.closeness, as_printed ? FactorScores::kProbabilities : FactorScores::kLogits);
  }
  EXPECT_EQ(CurnmOptions{}.corrupt, Corruption::kHalf);
  EXPECT_EQ(network_.miner("random")->propose(network_.batch(0, 10), Rng(1, Stream::kTest)).width,
            1)
      << "candidates keep the source";
}

// The mean over positives, and over negatives with their own sources; h_u^T W h_v + b by loops.
TEST_F(RandomPairsTest, TheRandomMinerLearnsFromPairsOfOtherSources) {
  const auto miner = network_.miner("random", {{"corrupt", "both"}, {"negatives", "2"}});
  const EventBatch batch = network_.batch(0, 30);
  const Candidates found = miner->propose(batch, Rng(1, Stream::kTest));
  ASSERT_EQ(found.extra.size(), 60);
  const Links links(batch, found);
  const Tensor z = at::arange(links.roots().size() * testing::kMiningWidth, at::kFloat)
                       .sin()
                       .view({-1, testing::kMiningWidth});
  const auto decoder =
      make_decoder(testing::bilinear(), decoders().at(testing::bilinear()).defaults,
                   {.width = testing::kMiningWidth});
  const Mined mined = miner->mine(batch, found, {links, z}, *decoder);
  const Roots roots = links.roots();
  const auto row = [&](NodeId node, Timestamp t) {
    std::size_t r = 0;
    while (roots.nodes[r] != node || roots.times[r] != t) ++r;
    return z[static_cast<std::int64_t>(r)];
  };
  const Tensor weight = decoder->named_parameters()["weight"];
  double loss = 0;
  for (std::size_t x = 0; x < 60; ++x) {
    const Timestamp t = batch.time[static_cast<std::size_t>(found.extra.rows[x])];
    const Tensor h_u = row(found.extra.src[x], t);
    const Tensor h_v = row(found.extra.dst[x], t);
    double logit = decoder->named_parameters()["bias"].item<double>();
    for (std::int64_t d = 0; d < testing::kMiningWidth; ++d) {
      for (std::int64_t k = 0; k < testing::kMiningWidth; ++k) {
        logit += h_u[d].item<double>() * weight[d][k].item<double>() * h_v[k].item<double>();
      }
    }
    loss += std::log1p(std::exp(logit)) / 60;
  }
  EXPECT_NEAR(mined.losses.at("negative"), loss, 1e-5);
}

}  // namespace
}  // namespace curnm
