#include "curnm/graph/temporal_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "curnm/base/error.h"
#include "support/errors.h"
#include "support/naive.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::all_events;
using testing::Entry;
using testing::interesting_times;
using testing::make_log;
using testing::naive_entries;
using testing::random_log;
using testing::ScopedThreads;

constexpr Timestamp kForever = -kNever;

std::vector<Entry> entries_in(const TemporalGraph& graph, TemporalGraph::Range range) {
  std::vector<Entry> entries;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    entries.push_back({graph.partners()[at], graph.times()[at], graph.events()[at]});
  }
  return entries;
}

/// Every third event or so.
std::vector<EventId> random_subset(const EventLog& log, std::uint64_t seed) {
  Rng rng(seed, Stream::kTest, /*epoch=*/1);
  std::vector<EventId> ids;
  for (EventId e = 0; e < log.size(); ++e) {
    if (rng.below(3) == 0) ids.push_back(e);
  }
  return ids;
}

void expect_same(const TemporalGraph& a, const TemporalGraph& b) {
  ASSERT_EQ(a.num_nodes(), b.num_nodes());
  ASSERT_EQ(a.num_entries(), b.num_entries());
  for (NodeId node = 0; node < a.num_nodes(); ++node) {
    ASSERT_EQ(a.all(node).begin, b.all(node).begin);
    ASSERT_EQ(a.all(node).end, b.all(node).end);
  }
  const auto equal = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  EXPECT_TRUE(equal(a.partners(), b.partners()));
  EXPECT_TRUE(equal(a.times(), b.times()));
  EXPECT_TRUE(equal(a.events(), b.events()));
}

/// All ranges of all nodes against loops over the log.
void expect_matches(const TemporalGraph& graph, const EventLog& log,
                    const std::vector<EventId>& ids) {
  ASSERT_EQ(graph.num_nodes(), log.num_nodes);
  const std::vector<Timestamp> times = interesting_times(log);
  std::int64_t entries = 0;
  for (NodeId node = 0; node < log.num_nodes; ++node) {
    const auto past = naive_entries(log, ids, node, kNever, kForever);
    entries += static_cast<std::int64_t>(past.size());
    ASSERT_EQ(entries_in(graph, graph.all(node)), past);
    EXPECT_EQ(graph.last_seen(node, kNever), kNever);
    EXPECT_EQ(graph.last_seen(node, kForever), past.empty() ? kNever : past.back().time);
    for (Timestamp t : times) {
      const auto before = naive_entries(log, ids, node, kNever, t);
      ASSERT_EQ(entries_in(graph, graph.before(node, t)), before) << node << " before " << t;
      ASSERT_EQ(graph.last_seen(node, t), before.empty() ? kNever : before.back().time);
      for (Timestamp from : times) {
        ASSERT_EQ(entries_in(graph, graph.between(node, from, t)),
                  naive_entries(log, ids, node, from, t))
            << node << " between " << from << " and " << t;
      }
    }
  }
  EXPECT_EQ(graph.num_entries(), entries);
}

TEST(TemporalGraphTest, HandComputedExample) {
  const EventLog log = make_log({{0, 1, 5}, {1, 0, 5}, {2, 2, 6}, {0, 1, 7}, {1, 2, 9}}, 5);
  const TemporalGraph graph(log);
  EXPECT_EQ(graph.num_nodes(), 5);
  EXPECT_EQ(graph.num_entries(), 9);  // two per event, one for the self-loop
  using Entries = std::vector<Entry>;
  EXPECT_EQ(entries_in(graph, graph.all(0)), (Entries{{1, 5, 0}, {1, 5, 1}, {1, 7, 3}}));
  EXPECT_EQ(entries_in(graph, graph.all(1)), (Entries{{0, 5, 0}, {0, 5, 1}, {0, 7, 3}, {2, 9, 4}}));
  EXPECT_EQ(entries_in(graph, graph.all(2)), (Entries{{2, 6, 2}, {1, 9, 4}}));
  EXPECT_EQ(entries_in(graph, graph.all(3)), Entries{});
  EXPECT_EQ(entries_in(graph, graph.before(1, 7)), (Entries{{0, 5, 0}, {0, 5, 1}}));
  EXPECT_EQ(entries_in(graph, graph.between(1, 7, 9)), (Entries{{0, 7, 3}}));
  EXPECT_EQ(graph.last_seen(2, 6), kNever);
  EXPECT_EQ(graph.last_seen(2, 6.5), 6);
  EXPECT_EQ(graph.last_seen(4, 100), kNever);
}

TEST(TemporalGraphTest, MatchesLoopsOnRandomMultigraphs) {
  for (NodeId nodes = 3; nodes < 15; ++nodes) {
    const EventLog log = random_log(static_cast<std::uint64_t>(nodes),
                                    {.nodes = nodes, .distinct_times = 5 + 2 * (nodes % 4)});
    expect_matches(TemporalGraph(log), log, all_events(log));
  }
  const EventLog bipartite = random_log(99, {.distinct_times = 80, .bipartite = true});
  expect_matches(TemporalGraph(bipartite), bipartite, all_events(bipartite));
}

TEST(TemporalGraphTest, SubsetKeepsTheNumbersOfTheLog) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const EventLog log = random_log(seed);
    const std::vector<EventId> ids = random_subset(log, seed);
    expect_matches(TemporalGraph(log, ids), log, ids);
  }
}

TEST(TemporalGraphTest, EmptySubsetIsNotTheWholeLog) {
  const EventLog log = random_log(1);
  const TemporalGraph graph(log, std::span<const EventId>{});
  EXPECT_EQ(graph.num_entries(), 0);
  expect_matches(graph, log, {});
}

TEST(TemporalGraphTest, EmptyLog) {
  const TemporalGraph isolated(make_log({}, 4));
  EXPECT_EQ(isolated.num_nodes(), 4);
  EXPECT_EQ(isolated.num_entries(), 0);
  for (NodeId node = 0; node < 4; ++node) {
    EXPECT_EQ(isolated.all(node).size(), 0);
    EXPECT_EQ(isolated.before(node, 1).size(), 0);
    EXPECT_EQ(isolated.between(node, -1, 1).size(), 0);
    EXPECT_EQ(isolated.last_seen(node, 1), kNever);
  }
  EXPECT_EQ(TemporalGraph(make_log({}, 0)).num_nodes(), 0);
}

TEST(TemporalGraphTest, NeighbouringLargeTimesAreDistinct) {
  const Timestamp large = 0x1p53;
  const TemporalGraph graph(make_log({{0, 1, large - 1}, {0, 2, large}}, 3));
  EXPECT_EQ(graph.before(0, large - 1).size(), 0);
  EXPECT_EQ(graph.before(0, large).size(), 1);
  EXPECT_EQ(graph.last_seen(0, large), large - 1);
  EXPECT_EQ(graph.last_seen(0, large + 2), large);
}

// 500 000 events are enough for seven builders; 140 000 for two.
TEST(TemporalGraphTest, ThreadCountChangesNothing) {
  for (std::int64_t events : {80, 140000, 500000}) {
    const EventLog log =
        random_log(7, {.nodes = 1000, .events = events, .distinct_times = events / 3});
    std::vector<EventId> most = all_events(log);
    std::erase_if(most, [](EventId e) { return e % 11 == 3; });
    const ScopedThreads one(1);
    const TemporalGraph whole(log);
    const TemporalGraph part(log, most);
    for (int threads : {2, 7}) {
      const ScopedThreads more(threads);
      expect_same(TemporalGraph(log), whole);
      expect_same(TemporalGraph(log, most), part);
    }
  }
}

TEST(TemporalGraphTest, LargeLogMatchesPushingBack) {
  const EventLog log = random_log(8, {.nodes = 300, .events = 200000, .distinct_times = 50000});
  std::vector<std::vector<Entry>> lists(300);
  for (EventId e = 0; e < log.size(); ++e) {
    const auto add = [&](NodeId node, NodeId partner) {
      lists[static_cast<std::size_t>(node)].push_back({partner, log.time[e], e});
    };
    add(log.src[e], log.dst[e]);
    if (log.dst[e] != log.src[e]) add(log.dst[e], log.src[e]);
  }
  const ScopedThreads threads(3);
  const TemporalGraph graph(log);
  for (NodeId node = 0; node < log.num_nodes; ++node) {
    ASSERT_EQ(entries_in(graph, graph.all(node)), lists[static_cast<std::size_t>(node)]);
  }
}

TEST(EventLogTest, ValidateNamesTheFirstOffender) {
  EXPECT_NO_THROW(validate(make_log({}, 0)));
  EXPECT_NO_THROW(validate(make_log({{0, 1, -3}, {1, 1, -3}, {2, 0, 1e18}}, 3)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const EventLog& bad :
       {make_log({{0, 1, 1}, {0, 3, 2}, {0, -1, 1}}, 3), make_log({{0, 1, 1}, {-1, 1, 2}}, 3),
        make_log({{0, 1, 1}, {0, 1, nan}}, 3), make_log({{0, 1, 1}, {0, 1, kForever}}, 3),
        make_log({{0, 1, 1}, {0, 1, std::nextafter(1.0, 0.0)}}, 3)}) {
    EXPECT_TRUE(testing::fails([&] { validate(bad); }, {"event 1"}));
  }
  EventLog short_column = make_log({{0, 1, 1}, {0, 1, 2}}, 2);
  short_column.dst = std::vector<NodeId>{1};
  EXPECT_THROW(validate(short_column), Error);
}

TEST(EventLogTest, SelectTakesTheGivenEvents) {
  const EventLog log = random_log(3);
  const std::vector<EventId> ids = random_subset(log, 3);
  const EventLog part = select(log, ids);
  ASSERT_EQ(part.size(), static_cast<std::int64_t>(ids.size()));
  EXPECT_EQ(part.num_nodes, log.num_nodes);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto row = static_cast<EventId>(i);
    EXPECT_EQ(part.src[row], log.src[ids[i]]);
    EXPECT_EQ(part.dst[row], log.dst[ids[i]]);
    EXPECT_EQ(part.time[row], log.time[ids[i]]);
  }
  EXPECT_EQ(select(log, {}).size(), 0);
}

TEST(EventLogTest, BipartiteMeansThatNobodyHasBothRoles) {
  EXPECT_TRUE(is_bipartite(make_log({{0, 2, 1}, {1, 2, 2}, {0, 3, 3}}, 4)));
  EXPECT_FALSE(is_bipartite(make_log({{0, 2, 1}, {2, 1, 2}}, 3)));
  EXPECT_FALSE(is_bipartite(make_log({{2, 1, 1}, {0, 2, 2}}, 3)));
  EXPECT_FALSE(is_bipartite(make_log({{1, 1, 1}}, 2)));
  EXPECT_TRUE(is_bipartite(make_log({}, 2)));
}

}  // namespace
}  // namespace curnm
