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

std::vector<std::vector<Timestamp>> times_by_pair(const EventLog& log,
                                                  std::vector<NodePair>& pairs) {
  std::vector<std::vector<Timestamp>> times;
  for (EventId e = 0; e < log.size(); ++e) {
    const NodePair pair{log.src[e], log.dst[e]};
    const auto at = std::find(pairs.begin(), pairs.end(), pair) - pairs.begin();
    if (at == static_cast<std::ptrdiff_t>(pairs.size())) {
      pairs.push_back(pair);
      times.emplace_back();
    }
    times[static_cast<std::size_t>(at)].push_back(log.time[e]);
  }
  return times;
}

TEST(HistoryTest, HandComputedExample) {
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

TEST(HistoryTest, AllIsTheExactSetAtEveryTime) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const EventLog log = random_log(seed, {.nodes = 9, .bipartite = seed % 3 == 2});
    const History history(log);
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      for (Timestamp t : interesting_times(log)) {
        const std::vector<Partner> all = history.all(u, t);
        ASSERT_EQ(as_map(all), naive_history(log, u, t)) << "H of " << u << " at " << t;
        for (std::size_t i = 1; i < all.size(); ++i) {
          EXPECT_LE(history.first_time(history.find(u, all[i - 1].node)),
                    history.first_time(history.find(u, all[i].node)));
        }
      }
      ASSERT_EQ(as_map(history.all(u, kForever)), naive_history(log, u, kForever));
      ASSERT_TRUE(history.all(u, kNever).empty());
    }
  }
}

TEST(HistoryTest, PairsAreNumberedByTheirFirstEvent) {
  const EventLog log = random_log(20, {.nodes = 60, .events = 3000, .distinct_times = 400});
  const History history(log);
  std::vector<NodePair> pairs;
  const std::vector<std::vector<Timestamp>> times = times_by_pair(log, pairs);
  ASSERT_EQ(history.num_pairs(), static_cast<PairId>(pairs.size()));
  for (PairId pair = 0; pair < history.num_pairs(); ++pair) {
    const auto at = static_cast<std::size_t>(pair);
    ASSERT_EQ(NodePair(history.src(pair), history.dst(pair)), pairs[at]);
    ASSERT_TRUE(std::ranges::equal(history.times(pair), times[at]));
    ASSERT_EQ(history.first_time(pair), times[at].front());
  }
  for (NodeId u = 0; u < log.num_nodes; ++u) {
    for (NodeId v = 0; v < log.num_nodes; ++v) {
      const auto at = std::find(pairs.begin(), pairs.end(), NodePair(u, v));
      ASSERT_EQ(history.find(u, v),
                at == pairs.end() ? kNoPair : static_cast<PairId>(at - pairs.begin()));
    }
  }
}

TEST(HistoryTest, PairQueriesMatchLoopsAtEveryTime) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const EventLog log = random_log(seed, {.nodes = 6, .events = 50, .distinct_times = 12});
    const History history(log);
    const std::vector<Timestamp> times = interesting_times(log);
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      for (NodeId v = 0; v < log.num_nodes; ++v) {
        const PairId pair = history.find(u, v);
        for (Timestamp t : times) {
          Timestamp last = kNever;
          for (EventId e = 0; e < log.size(); ++e) {
            if (log.src[e] == u && log.dst[e] == v && log.time[e] < t) last = log.time[e];
          }
          ASSERT_EQ(history.last_before(u, v, t), last);
          ASSERT_EQ(history.occurs_at(u, v, t), naive_occurs(log, u, v, t, t));
          if (pair == kNoPair) continue;
          for (Timestamp to : times) {
            ASSERT_EQ(history.occurs_within(pair, t, to), naive_occurs(log, u, v, t, to))
                << t << " .. " << to;
          }
        }
      }
    }
  }
}

TEST(HistoryTest, PrefixesOfPairsMatchLoopsAtEveryTime) {
  const EventLog log = random_log(21, {.nodes = 14, .events = 120, .distinct_times = 40});
  const History history(log);
  for (Timestamp t : interesting_times(log)) {
    const std::set<NodePair> expected = naive_pairs(log, kNever, t);
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

TEST(HistoryTest, EmptyLog) {
  const History history(make_log({}, 3));
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

TEST(HistoryTest, RepeatedEventsAtOneTimeChangeNoSet) {
  const std::vector<Event> once = events_of(random_log(22));
  std::vector<Event> tripled;
  for (const Event& event : once) tripled.insert(tripled.end(), 3, event);
  const EventLog log = make_log(once, 12);
  const History single(log);
  const History triple(make_log(tripled, 12));
  ASSERT_EQ(triple.num_pairs(), single.num_pairs());
  for (NodeId u = 0; u < 12; ++u) {
    for (Timestamp t : interesting_times(log)) {
      ASSERT_EQ(as_map(triple.all(u, t)), naive_history(log, u, t));
    }
  }
  for (PairId pair = 0; pair < single.num_pairs(); ++pair) {
    EXPECT_EQ(triple.times(pair).size(), 3 * single.times(pair).size());
  }
}

TEST(HistoryTest, NeighbouringLargeTimesAreDistinct) {
  const Timestamp large = 0x1p53;
  const History history(make_log({{0, 1, large - 1}, {0, 2, large}}, 3));
  EXPECT_EQ(as_map(history.all(0, large)), (Partners{{1, large - 1}}));
  EXPECT_FALSE(history.occurs_at(0, 1, large));
  EXPECT_EQ(history.last_before(0, 1, large - 1), kNever);
}

TEST(HistoryDrawTest, GivesDistinctMembersAndAllOfASmallSet) {
  DrawScratch scratch;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const EventLog log = random_log(seed, {.nodes = 30, .events = 400, .distinct_times = 60});
    const History history(log);
    Rng rng(seed, Stream::kHistory);
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      for (Timestamp t : interesting_times(log)) {
        const Partners members = naive_history(log, u, t);
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
TEST(HistoryDrawTest, EveryMemberIsEquallyLikely) {
  constexpr std::int64_t kTrials = 4000;
  constexpr NodeId kExcluded = 15;
  for (NodeId partners : {25, 60}) {
    const History history(star(partners, kExcluded));
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

TEST(HistoryDrawTest, FindsTheFewThatAreNotPartnersNow) {
  Rng rng(4, Stream::kHistory);
  DrawScratch scratch;
  const History nearly(star(500, 498));
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(as_map(draw(nearly, 0, 501, 5, rng, scratch)), (Partners{{499, 499}, {500, 500}}));
    EXPECT_EQ(draw(nearly, 0, 501, 1, rng, scratch).size(), 1u);
  }
  const History wholly(star(500, 500));
  EXPECT_TRUE(draw(wholly, 0, 501, 5, rng, scratch).empty());
  EXPECT_EQ(draw(wholly, 0, 502, 5, rng, scratch).size(), 5u) << "free again afterwards";
}

TEST(HistoryDrawTest, SameKeySameDrawOtherKeyOtherDraw) {
  const History history(star(40, 0));
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

/// The log as the future could have been: everything after t is other, and at t the sources other
/// than u do something else, while u also meets nodes that it had not met before.
EventLog with_other_future(const EventLog& log, NodeId u, Timestamp t, std::uint64_t seed) {
  Rng rng(seed, Stream::kTest, /*epoch=*/2);
  const auto node = [&] {
    return static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(log.num_nodes)));
  };
  const std::set<NodePair> past = naive_pairs(log, kNever, t);
  std::vector<Event> events;
  for (const Event& event : events_of(log)) {
    if (event.time < t || (event.time == t && event.src == u)) events.push_back(event);
  }
  for (int i = 0; i < 20; ++i) {
    const NodeId src = node();
    const NodeId dst = node();
    if (src != u || !past.contains({u, dst})) events.push_back({src, dst, t});
  }
  for (int i = 0; i < 20; ++i) events.push_back({node(), node(), t + 1 + i / 4});
  return make_log(events, log.num_nodes);
}

TEST(HistoryDrawTest, NeverSeesTheFuture) {
  DrawScratch scratch;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const EventLog log = random_log(seed, {.nodes = 12, .events = 200, .distinct_times = 50});
    const History history(log);
    for (NodeId u = 0; u < log.num_nodes; ++u) {
      for (Timestamp t : interesting_times(log)) {
        const History other(with_other_future(log, u, t, seed));
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
