#include <gtest/gtest.h>

#include "curnm/sampling/indices.h"
#include "curnm/sampling/links.h"
#include "curnm/sampling/pair_statistics.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::random_log;

/// The nodes of the first events alone: what a network knows before it grows.
EventLog beginning(const EventLog& log, std::int64_t events) {
  EventLog first = head(log, events);
  first.num_nodes = 0;
  for (const auto& column : {first.src, first.dst}) {
    for (const NodeId node : column) first.num_nodes = std::max(first.num_nodes, node + 1);
  }
  return first;
}

std::vector<Timestamp> times_to_ask(const EventLog& log) {
  std::vector<Timestamp> times = {-1, log.time[log.size() - 1] + 1};
  for (const Timestamp t : log.time) times.insert(times.end(), {t, t + 0.5});
  return times;
}

void expect_same_graph(const Indices& grown, const Indices& built, Timestamp t) {
  ASSERT_EQ(grown.graph.num_entries(), built.graph.num_entries());
  ASSERT_EQ(grown.graph.num_nodes(), built.graph.num_nodes());
  for (NodeId node = 0; node < built.graph.num_nodes(); ++node) {
    const auto a = grown.graph.before(node, t);
    const auto b = built.graph.before(node, t);
    ASSERT_EQ(a.size(), b.size());
    for (std::int64_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(grown.graph.partners()[index(a.begin + i)],
                built.graph.partners()[index(b.begin + i)]);
      EXPECT_EQ(grown.graph.times()[index(a.begin + i)], built.graph.times()[index(b.begin + i)]);
      EXPECT_EQ(grown.graph.events()[index(a.begin + i)], built.graph.events()[index(b.begin + i)]);
    }
    EXPECT_EQ(grown.graph.last_seen(node, t), built.graph.last_seen(node, t));
    EXPECT_EQ(grown.graph.between(node, t - 3, t).size(),
              built.graph.between(node, t - 3, t).size());
    const auto same = [](const Activity& x, const Activity& y) {
      return x.count == y.count && x.last == y.last;
    };
    EXPECT_TRUE(same(grown.roles.as_source(a), built.roles.as_source(b)));
    EXPECT_TRUE(same(grown.roles.as_destination(a), built.roles.as_destination(b)));
  }
}

void expect_same_pairs(const History& grown, const History& built, NodeId nodes, Timestamp t) {
  ASSERT_EQ(grown.num_pairs(), built.num_pairs());
  EXPECT_EQ(grown.pairs_before(t), built.pairs_before(t));
  for (PairId pair = 0; pair < built.num_pairs(); ++pair) {
    EXPECT_EQ(grown.src(pair), built.src(pair));
    EXPECT_EQ(grown.dst(pair), built.dst(pair));
    EXPECT_TRUE(std::ranges::equal(grown.times(pair), built.times(pair)));
    EXPECT_EQ(grown.occurs_within(pair, t - 2, t), built.occurs_within(pair, t - 2, t));
  }
  for (NodeId u = 0; u < nodes; ++u) {
    EXPECT_TRUE(std::ranges::equal(grown.pairs_of_before(u, t), built.pairs_of_before(u, t)));
    const std::vector<Partner> a = grown.all(u, t);
    const std::vector<Partner> b = built.all(u, t);
    EXPECT_TRUE(std::ranges::equal(a, b, [](const Partner& x, const Partner& y) {
      return x.node == y.node && x.last == y.last;
    }));
    for (NodeId v = 0; v < nodes; ++v) {
      EXPECT_EQ(grown.find(u, v), built.find(u, v));
      EXPECT_EQ(grown.before(u, v, t).count, built.before(u, v, t).count);
      EXPECT_EQ(grown.last_before(u, v, t), built.last_before(u, v, t));
      EXPECT_EQ(grown.occurs_at(u, v, t), built.occurs_at(u, v, t));
    }
  }
}

void expect_same_draws(const Indices& grown, const Indices& built, Timestamp t,
                       std::uint64_t seed) {
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < built.graph.num_nodes(); ++node) nodes.push_back(node);
  const std::vector<Timestamp> times(nodes.size(), t);
  const SamplerOptions options{.strategy = SamplingStrategy::kUniform, .neighbors = 3, .layers = 2};
  const Rng key(seed, Stream::kTest);
  const auto a = NeighborSampler(grown.graph, options).sample({nodes, times}, key);
  const auto b = NeighborSampler(built.graph, options).sample({nodes, times}, key);
  for (std::size_t layer = 0; layer < a.size(); ++layer) {
    EXPECT_EQ(a[layer].nodes, b[layer].nodes);
    EXPECT_EQ(a[layer].events, b[layer].events);
  }
  std::vector<NodeId> reversed(nodes.rbegin(), nodes.rend());
  const Links links(Pairs{nodes, reversed, times});
  EXPECT_EQ(PairStatistics(grown.past(), {}).of_pairs(links),
            PairStatistics(built.past(), {}).of_pairs(links));
  EXPECT_EQ(PairStatistics(grown.past(), {}).of_nodes(links.roots()),
            PairStatistics(built.past(), {}).of_nodes(links.roots()));
  for (const NodeId node : nodes) {
    Rng of_grown = key.split(static_cast<std::uint64_t>(node));
    Rng of_built = of_grown;
    DrawScratch scratch;
    std::vector<Partner> x(4);
    std::vector<Partner> y(4);
    ASSERT_EQ(grown.partners.draw(node, t, of_grown, scratch, x),
              built.partners.draw(node, t, of_built, scratch, y));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i].node, y[i].node);
  }
}

void expect_same(const Indices& grown, const EventLog& log, std::uint64_t seed) {
  const Indices built(log);
  for (const Timestamp t : times_to_ask(log)) {
    expect_same_graph(grown, built, t);
    expect_same_pairs(grown.pairs, built.pairs, log.num_nodes, t);
    expect_same_pairs(grown.partners, built.partners, log.num_nodes, t);
    expect_same_pairs(grown.transitions.history(), built.transitions.history(), log.num_nodes, t);
    expect_same_draws(grown, built, t, seed);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Small logs, so that all questions can be asked; the first events know few of the nodes.
EventLog small_log(std::uint64_t seed) {
  EventLog log = random_log(seed, {.nodes = static_cast<NodeId>(3 + seed % 9),
                                   .events = 10 + static_cast<std::int64_t>(seed % 50),
                                   .distinct_times = 1 + static_cast<std::int64_t>(seed % 12)});
  return beginning(log, log.size());  // no node without events after the last one that has some
}

TEST(GrowingIndicesTest, AppendedOneByOneIsBuiltAtOnce) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const EventLog log = small_log(seed);
    Indices grown(beginning(log, 0));
    for (EventId e = 0; e < log.size(); ++e) {
      grown.append(log.src[e], log.dst[e], log.time[e], e);
    }
    expect_same(grown, log, seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(GrowingIndicesTest, AnyBeginningMayGrowInAnySteps) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const EventLog log = small_log(seed);
    Rng rng(seed, Stream::kTest);
    const auto below = [&](EventId n) {
      return static_cast<EventId>(rng.below(static_cast<std::uint64_t>(n)));
    };
    EventId known = below(log.size());
    Indices grown(beginning(log, known));
    while (known < log.size()) {
      const EventId end = std::min(log.size(), known + 1 + below(7));
      for (; known < end; ++known) {
        grown.append(log.src[known], log.dst[known], log.time[known], known);
      }
      expect_same(grown, beginning(log, known), seed);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", " << known << " events";
    }
  }
}

TEST(GrowingIndicesTest, RoomStaysInProportionToTheEntries) {
  Indices grown(beginning(random_log(1), 0));
  for (EventId e = 0; e < 20000; ++e) {
    grown.append(static_cast<NodeId>(e % 7), static_cast<NodeId>(7 + e % 100),
                 static_cast<Timestamp>(e), e);
  }
  // Doubling leaves at most half of the last room spare, and as much where blocks were before.
  EXPECT_LE(std::ssize(grown.graph.events()), 4 * grown.graph.num_entries());
}

}  // namespace
}  // namespace curnm
