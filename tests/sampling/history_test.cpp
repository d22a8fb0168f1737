#include "curnm/sampling/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "support/chi_square.h"
#include "support/naive.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::Event;
using testing::events_of;
using testing::interesting_times;
using testing::make_log;
using testing::mirrored;
using testing::naive_history;
using testing::naive_occurs;
using testing::naive_pairs;
using testing::NodePair;
using testing::random_log;

using Partners = std::map<NodeId, Timestamp>;

constexpr Timestamp kForever = -kNever;

/// As a map; a partner that appears twice is a failure.
Partners as_map(std::span<const Partner> partners) {
  Partners map;
  for (const Partner& partner : partners) {
    EXPECT_TRUE(map.emplace(partner.node, partner.last).second) << partner.node << " twice";
  }
  return map;
}

std::vector<Partner> draw(const History& history, NodeId u, Timestamp t, std::size_t count,
                          Rng& rng, DrawScratch& scratch) {
  std::vector<Partner> out(count);
  out.resize(static_cast<std::size_t>(history.draw(u, t, rng, scratch, out)));
  return out;
}

/// Both kinds of history. The oracles are directed; of a mutual history they see the mirrored log.
class HistoryTest : public ::testing::TestWithParam<Partnership> {
 protected:
  static EventLog links(const EventLog& log) {
    return GetParam() == Partnership::kMutual ? mirrored(log) : log;
  }
};

INSTANTIATE_TEST_SUITE_P(Both, HistoryTest,
                         ::testing::Values(Partnership::kDirected, Partnership::kMutual));

using HistoryDrawTest = HistoryTest;
INSTANTIATE_TEST_SUITE_P(Both, HistoryDrawTest,
                         ::testing::Values(Partnership::kDirected, Partnership::kMutual));

TEST(DirectedHistoryTest, HandComputedExample) {
  const History history(make_log(
      {{0, 1, 1}, {0, 2, 2}, {1, 0, 2}, {0, 1, 3}, {0, 1, 3}, {0, 3, 3}, {0, 0, 4}, {0, 2, 5}}, 5));
  EXPECT_EQ(as_map(history.all(0, 1)), Partners{});
  EXPECT_EQ(as_map(history.all(0, 1.5)), (Partners{{1, 1}}));
  EXPECT_EQ(as_map(history.all(0, 2)), (Partners{{1, 1}}));
  EXPECT_EQ(as_map(history.all(0, 3)), (Partners{{2, 2}})) << "1 is a partner at 3";
  EXPECT_EQ(as_map(history.all(0, 4)), (Partners{{1, 3}, {2, 2}, {3, 3}}));
  EXPECT_EQ(as_map(history.all(0, 5)), (Partners{{0, 4}, {1, 3}, {3, 3}}));
  EXPECT_EQ(as_map(history.all(0, 6)), (Partners{{0, 4}, {1, 3}, {2, 5}, {3, 3}}));
  EXPECT_EQ(as_map(history.all(1, 6)), (Partners{{0, 2}})) << "as a source only";
  EXPECT_EQ(as_map(history.all(4, 6)), Partners{});
  EXPECT_EQ(history.num_pairs(), 5);
  EXPECT_EQ(history.last_before(0, 1, 3), 1);
  EXPECT_EQ(history.last_before(0, 1, 4), 3);
  EXPECT_EQ(history.last_before(0, 1, 1), kNever);
  EXPECT_TRUE(history.occurs_at(0, 1, 3));
  EXPECT_FALSE(history.occurs_at(0, 1, 2));
  EXPECT_EQ(history.find(2, 0), kNoPair);
}

TEST(MutualHistoryTest, HandComputedExample) {
  const EventLog log = make_log({{0, 1, 1}, {2, 0, 2}, {3, 0, 3}, {1, 0, 3}, {2, 2, 4}}, 4);
  const History history(log, Partnership::kMutual);
  EXPECT_EQ(as_map(history.all(0, 2)), (Partners{{1, 1}}));
  EXPECT_EQ(as_map(history.all(0, 3)), (Partners{{2, 2}})) << "1 is a partner at 3";
  EXPECT_EQ(as_map(history.all(0, 4)), (Partners{{1, 3}, {2, 2}, {3, 3}}));
  EXPECT_EQ(as_map(history.all(1, 3)), Partners{});
  EXPECT_EQ(as_map(history.all(1, 4)), (Partners{{0, 3}}));
  EXPECT_EQ(as_map(history.all(2, 5)), (Partners{{0, 2}, {2, 4}}));
  EXPECT_EQ(history.num_pairs(), 7);  // three both ways and a self-loop
  EXPECT_EQ(history.times(history.find(2, 2)).size(), 1u) << "a self-loop counts once";
  EXPECT_EQ(history.last_before(1, 0, 3), 1);
  EXPECT_TRUE(history.occurs_at(0, 1, 3));
}

TEST(DirectedHistoryTest, PairsAreNumberedInTheOrderOfFirstEvents) {
  const EventLog log = random_log(23, {.nodes = 9, .events = 60, .distinct_times = 6});
  const History history(log);
  std::set<NodePair> seen;
  for (EventId e = 0; e < log.size(); ++e) {
    const auto fresh = static_cast<PairId>(seen.size());
    if (seen.insert({log.src[e], log.dst[e]}).second) {
      EXPECT_EQ(history.find(log.src[e], log.dst[e]), fresh);
    }
  }
}

TEST_P(HistoryTest, AllIsTheExactSetAtEveryTime) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const EventLog log = random_log(seed, {.nodes = 9, .bipartite = seed % 3 == 2});
    const EventLog linked = links(log);
    const History history(log, GetParam());
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      for (Timestamp t : interesting_times(log)) {
        const std::vector<Partner> all = history.all(u, t);
        ASSERT_EQ(as_map(all), naive_history(linked, u, t)) << "H of " << u << " at " << t;
        for (std::size_t i = 1; i < all.size(); ++i) {
          EXPECT_LE(history.first_time(history.find(u, all[i - 1].node)),
                    history.first_time(history.find(u, all[i].node)));
        }
      }
      ASSERT_EQ(as_map(history.all(u, kForever)), naive_history(linked, u, kForever));
      ASSERT_TRUE(history.all(u, kNever).empty());
    }
  }
}

// Enough pairs for the hash table to grow several times.
TEST_P(HistoryTest, EveryPairIsFoundWithItsTimes) {
  const EventLog log = random_log(20, {.nodes = 60, .events = 3000, .distinct_times = 400});
  const History history(log, GetParam());
  std::map<NodePair, std::vector<Timestamp>> expected;
  for (const Event& event : events_of(links(log))) {
    expected[{event.src, event.dst}].push_back(event.time);
  }
  ASSERT_EQ(history.num_pairs(), static_cast<PairId>(expected.size()));
  for (NodeId u = 0; u < log.num_nodes; ++u) {
    for (NodeId v = 0; v < log.num_nodes; ++v) {
      const PairId pair = history.find(u, v);
      ASSERT_EQ(pair != kNoPair, expected.contains({u, v}));
      if (pair == kNoPair) continue;
      ASSERT_EQ(NodePair(history.src(pair), history.dst(pair)), NodePair(u, v));
      const std::vector<Timestamp>& times = expected[{u, v}];
      ASSERT_TRUE(std::ranges::equal(history.times(pair), times));
      ASSERT_EQ(history.first_time(pair), times.front());
      if (pair > 0) {
        ASSERT_LE(history.first_time(pair - 1), history.first_time(pair));
      }
    }
  }
}

TEST_P(HistoryTest, PairQueriesMatchLoopsAtEveryTime) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const EventLog log = random_log(seed, {.nodes = 6, .events = 50, .distinct_times = 12});
    const EventLog linked = links(log);
    const History history(log, GetParam());
    const std::vector<Timestamp> times = interesting_times(log);
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      for (NodeId v = 0; v < log.num_nodes; ++v) {
        const PairId pair = history.find(u, v);
        for (Timestamp t : times) {
          Timestamp last = kNever;
          for (const Event& event : events_of(linked)) {
            if (event.src == u && event.dst == v && event.time < t) last = event.time;
          }
          ASSERT_EQ(history.last_before(u, v, t), last);
          ASSERT_EQ(history.occurs_at(u, v, t), naive_occurs(linked, u, v, t, t));
          if (pair == kNoPair) continue;
          for (Timestamp to : times) {
            ASSERT_EQ(history.occurs_within(pair, t, to), naive_occurs(linked, u, v, t, to))
                << t << " .. " << to;
          }
        }
      }
    }
  }
}

TEST_P(HistoryTest, PrefixesOfPairsMatchLoopsAtEveryTime) {
  const EventLog log = random_log(21, {.nodes = 14, .events = 120, .distinct_times = 40});
  const EventLog linked = links(log);
  const History history(log, GetParam());
  for (Timestamp t : interesting_times(log)) {
    const std::set<NodePair> expected = naive_pairs(linked, kNever, t);
    std::set<NodePair> found;
    for (PairId pair = 0; pair < history.pairs_before(t); ++pair) {
      found.insert({history.src(pair), history.dst(pair)});
    }
    ASSERT_EQ(found, expected);
    ASSERT_EQ(history.pairs_before(t), static_cast<PairId>(expected.size()));
    std::size_t total = 0;
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      const std::span<const PairId> own = history.pairs_of_before(u, t);
      total += own.size();
      EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
      for (PairId pair : own) {
        EXPECT_EQ(history.src(pair), u);
        EXPECT_LT(history.first_time(pair), t);
      }
    }
    ASSERT_EQ(total, expected.size());
  }
}

TEST_P(HistoryTest, EmptyLog) {
  const History history(make_log({}, 3), GetParam());
  EXPECT_EQ(history.num_pairs(), 0);
  EXPECT_EQ(history.pairs_before(1), 0);
  EXPECT_EQ(history.find(0, 1), kNoPair);
  EXPECT_EQ(history.last_before(0, 1, 5), kNever);
  EXPECT_FALSE(history.occurs_at(0, 1, 5));
  EXPECT_TRUE(history.all(2, 1).empty());
  Rng rng(1, Stream::kTest);
  DrawScratch scratch;
  EXPECT_TRUE(draw(history, 0, 1, 5, rng, scratch).empty());
}

TEST_P(HistoryTest, RepeatedEventsAtOneTimeChangeNoSet) {
  const std::vector<Event> once = events_of(random_log(22));
  std::vector<Event> tripled;
  for (const Event& event : once) tripled.insert(tripled.end(), 3, event);
  const EventLog log = make_log(once, 12);
  const EventLog linked = links(log);
  const History single(log, GetParam());
  const History triple(make_log(tripled, 12), GetParam());
  ASSERT_EQ(triple.num_pairs(), single.num_pairs());
  for (NodeId u = 0; u < 12; ++u) {
    for (Timestamp t : interesting_times(log)) {
      ASSERT_EQ(as_map(triple.all(u, t)), naive_history(linked, u, t));
    }
  }
  for (PairId pair = 0; pair < single.num_pairs(); ++pair) {
    EXPECT_EQ(triple.times(pair).size(), 3 * single.times(pair).size());
  }
}

TEST_P(HistoryTest, NeighbouringLargeTimesAreDistinct) {
  const Timestamp large = 0x1p53;
  const History history(make_log({{0, 1, large - 1}, {0, 2, large}}, 3), GetParam());
  EXPECT_EQ(as_map(history.all(0, large)), (Partners{{1, large - 1}}));
  EXPECT_FALSE(history.occurs_at(0, 1, large));
  EXPECT_EQ(history.last_before(0, 1, large - 1), kNever);
}

TEST_P(HistoryDrawTest, GivesDistinctMembersAndAllOfASmallSet) {
  DrawScratch scratch;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const EventLog log = random_log(seed, {.nodes = 30, .events = 400, .distinct_times = 60});
    const EventLog linked = links(log);
    const History history(log, GetParam());
    Rng rng(seed, Stream::kHistory);
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      for (Timestamp t : interesting_times(log)) {
        const Partners members = naive_history(linked, u, t);
        for (std::size_t wanted : {0, 1, 4, 100}) {
          const Partners drawn = as_map(draw(history, u, t, wanted, rng, scratch));
          ASSERT_EQ(drawn.size(), std::min(wanted, members.size()));
          for (const auto& [node, last] : drawn) {
            ASSERT_TRUE(members.contains(node)) << node << " is not in H of " << u << " at " << t;
            ASSERT_EQ(last, members.at(node));
          }
        }
      }
    }
  }
}

/// Node 0 meets 1 .. partners one after the other, then the first `excluded` of them again at the
/// final time.
EventLog star(NodeId partners, NodeId excluded) {
  std::vector<Event> events;
  for (NodeId v = 1; v <= partners; ++v) events.push_back({0, v, static_cast<Timestamp>(v)});
  for (NodeId v = 1; v <= excluded; ++v) events.push_back({0, v, partners + 1.0});
  return make_log(events, partners + 1);
}

// Draws of 1, 3, 8 and 20 of the members; tolerance in equally_included.
TEST_P(HistoryDrawTest, EveryMemberIsEquallyLikely) {
  constexpr std::int64_t kTrials = 4000;
  constexpr NodeId kExcluded = 15;
  for (NodeId partners : {25, 60}) {
    const History history(star(partners, kExcluded), GetParam());
    const NodeId members = partners - kExcluded;
    for (std::int64_t wanted : {1, 3, 8, 20}) {
      if (wanted >= members) continue;
      Rng rng(3, Stream::kHistory, 0, static_cast<std::uint64_t>(wanted));
      DrawScratch scratch;
      std::vector<std::int64_t> counts(static_cast<std::size_t>(members));
      for (std::int64_t trial = 0; trial < kTrials; ++trial) {
        for (const Partner& partner :
             draw(history, 0, partners + 1, static_cast<std::size_t>(wanted), rng, scratch)) {
          ASSERT_GT(partner.node, kExcluded);
          ++counts[static_cast<std::size_t>(partner.node - kExcluded - 1)];
        }
      }
      EXPECT_TRUE(testing::equally_included(counts, kTrials, wanted))
          << wanted << " of " << members;
    }
  }
}

TEST_P(HistoryDrawTest, FindsTheFewThatAreNotPartnersNow) {
  Rng rng(4, Stream::kHistory);
  DrawScratch scratch;
  const History nearly(star(500, 498), GetParam());
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(as_map(draw(nearly, 0, 501, 5, rng, scratch)), (Partners{{499, 499}, {500, 500}}));
    EXPECT_EQ(draw(nearly, 0, 501, 1, rng, scratch).size(), 1u);
  }
  const History wholly(star(500, 500), GetParam());
  EXPECT_TRUE(draw(wholly, 0, 501, 5, rng, scratch).empty());
  EXPECT_EQ(draw(wholly, 0, 502, 5, rng, scratch).size(), 5u) << "free again afterwards";
}

TEST_P(HistoryDrawTest, SameKeySameDrawOtherKeyOtherDraw) {
  const History history(star(40, 0), GetParam());
  const auto nodes = [&](std::uint64_t row) {
    Rng rng(5, Stream::kHistory, 0, row);
    DrawScratch scratch;
    std::vector<NodeId> drawn;
    for (const Partner& partner : draw(history, 0, 100, 8, rng, scratch)) {
      drawn.push_back(partner.node);
    }
    return drawn;
  };
  EXPECT_EQ(nodes(1), nodes(1));
  EXPECT_NE(nodes(1), nodes(2));
}

/// The log as the future could have been: everything after t is other, and at t the others do
/// something else, while u also meets nodes that are not among its `past` partners.
EventLog with_other_future(const EventLog& log, NodeId u, Timestamp t,
                           const std::map<NodeId, Timestamp>& past, std::uint64_t seed) {
  Rng rng(seed, Stream::kTest, /*epoch=*/2);
  const auto node = [&] {
    return static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(log.num_nodes)));
  };
  std::vector<Event> events;
  for (const Event& event : events_of(log)) {
    const bool own = event.src == u || event.dst == u;
    if (event.time < t || (event.time == t && own)) events.push_back(event);
  }
  for (int i = 0; i < 20; ++i) {
    const Event event{node(), node(), t};
    const bool again = (event.src == u && past.contains(event.dst)) ||
                       (event.dst == u && past.contains(event.src));
    if (!again) events.push_back(event);
  }
  for (int i = 0; i < 20; ++i) events.push_back({node(), node(), t + 1 + i / 4});
  return make_log(events, log.num_nodes);
}

TEST_P(HistoryDrawTest, NeverSeesTheFuture) {
  DrawScratch scratch;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const EventLog log = random_log(seed, {.nodes = 12, .events = 200, .distinct_times = 50});
    const EventLog linked = links(log);
    const History history(log, GetParam());
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      for (Timestamp t : interesting_times(log)) {
        const auto past = naive_history(linked, u, t);
        const History other(with_other_future(log, u, t, past, seed), GetParam());
        Rng rng(seed, Stream::kHistory);
        Rng same(seed, Stream::kHistory);
        const auto drawn = draw(history, u, t, 4, rng, scratch);
        const auto again = draw(other, u, t, 4, same, scratch);
        ASSERT_TRUE(std::ranges::equal(drawn, again,
                                       [](const Partner& a, const Partner& b) {
                                         return a.node == b.node && a.last == b.last;
                                       }))
            << u << " at " << t;
        ASSERT_EQ(rng.next(), same.next()) << "not as many numbers were used";
      }
    }
  }
}

}  // namespace
}  // namespace curnm
