#include <gtest/gtest.h>

#include "support/mining.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::make_log;
using testing::MiningNetwork;
using testing::mirrored;
using testing::naive_occurs;
using testing::random_log;

std::vector<NodeId> recent_of(const MiningNetwork& network, std::int64_t width, EventId e,
                              std::uint64_t key = 1) {
  return network.miner("recent", {{"negatives", std::to_string(width)}})
      ->propose(network.batch(e, e + 1), Rng(key, Stream::kTest))
      .nodes;
}

/// The newest distinct partners in either role before t that are none at t, from the end of the
/// log backwards.
std::vector<NodeId> naive_recent(const EventLog& links, NodeId u, Timestamp t, std::size_t width) {
  std::vector<NodeId> found;
  for (EventId e = links.size() - 1; e >= 0 && found.size() < width; --e) {
    if (links.src[e] != u || links.time[e] >= t) continue;
    const NodeId v = links.dst[e];
    const bool taken = std::find(found.begin(), found.end(), v) != found.end();
    if (!taken && !naive_occurs(links, u, v, t, t)) found.push_back(v);
  }
  return found;
}

TEST(RecentMinerTest, HandComputedExample) {
  const MiningNetwork network(
      make_log({{0, 1, 1}, {2, 0, 2}, {0, 3, 3}, {0, 3, 4}, {0, 1, 5}, {4, 0, 5}, {0, 3, 6}}, 5));
  EXPECT_EQ(recent_of(network, 3, 6), (std::vector<NodeId>{4, 1, 2}))
      << "3 is a partner at 6; of the two at 5 the later event comes first";
  EXPECT_EQ(recent_of(network, 2, 4), (std::vector<NodeId>{3, 2})) << "1 and 4 are partners at 5";
}

TEST(RecentMinerTest, MatchesLoops) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const MiningNetwork network(random_log(
        seed, {.nodes = 14, .events = 120, .distinct_times = 40, .bipartite = seed % 2 == 1}));
    const EventLog links = mirrored(network.log);
    for (const std::size_t width : {1U, 3U, 8U}) {
      for (EventId e = 0; e < network.log.size(); ++e) {
        const NodeId u = network.log.src[e];
        const Timestamp t = network.log.time[e];
        const std::vector<NodeId> found = recent_of(network, static_cast<std::int64_t>(width), e);
        ASSERT_EQ(found.size(), width);
        const std::vector<NodeId> expected = naive_recent(links, u, t, width);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), found.begin())) << "event " << e;
        // The rest is random: destinations that are no partners at t, if there are any.
        bool exists = false;
        for (NodeId v : network.destinations) exists |= !naive_occurs(links, u, v, t, t);
        for (std::size_t j = expected.size(); exists && j < width; ++j) {
          ASSERT_FALSE(naive_occurs(links, u, found[j], t, t));
        }
      }
    }
  }
}

TEST(RecentMinerTest, WhatIsMissingIsRandom) {
  const MiningNetwork network(random_log(3, {.nodes = 40, .events = 200, .distinct_times = 200}));
  std::set<std::vector<NodeId>> draws;
  for (std::uint64_t key = 0; key < 20; ++key) draws.insert(recent_of(network, 4, 0, key));
  EXPECT_GT(draws.size(), 15u);
}

}  // namespace
}  // namespace curnm
