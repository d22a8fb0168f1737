#include "curnm/curriculum/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "support/chi_square.h"
#include "support/naive.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::equally_included;
using testing::Event;
using testing::events_of;
using testing::make_log;
using testing::mirrored;
using testing::naive_history;
using testing::naive_occurs;
using testing::random_log;
using testing::RandomLogOptions;
using testing::ScopedThreads;

const Rng kKey(3, Stream::kTest);

/// Nodes that have events; destinations alone where the network is bipartite.
std::vector<NodeId> destinations_of(const EventLog& log) {
  std::set<NodeId> nodes(log.dst.begin(), log.dst.end());
  if (!is_bipartite(log)) nodes.insert(log.src.begin(), log.src.end());
  return {nodes.begin(), nodes.end()};
}

/// A network with what a pool is built from.
struct Network {
  explicit Network(EventLog events)
      : log(std::move(events)),
        links(mirrored(log)),
        link_events(events_of(links)),
        partners(log, Partnership::kMutual),
        graph(log),
        destinations(destinations_of(log)),
        ids(testing::all_events(log)) {}

  NegativePool pool(std::int64_t size = 8, double gamma_hist = 0.6) const {
    return {&partners, &graph, destinations, size, gamma_hist};
  }
  EventBatch all() const { return {log.src.span(), log.dst.span(), log.time.span(), ids}; }

  /// By loops.
  bool partner_at(NodeId u, NodeId v, Timestamp t) const { return naive_occurs(links, u, v, t, t); }
  Timestamp last_met(NodeId u, NodeId v, Timestamp t) const {
    Timestamp last = kNever;
    for (const Event& event : link_events) {
      if (event.src == u && event.dst == v && event.time < t) last = event.time;
    }
    return last;
  }
  Timestamp last_seen(NodeId v, Timestamp t) const {
    Timestamp last = kNever;
    for (const Event& event : link_events) {
      if (event.src == v && event.time < t) last = event.time;
    }
    return last;
  }

  EventLog log;
  EventLog links;  // every event both ways: the oracles are directed
  std::vector<Event> link_events;
  History partners;
  TemporalGraph graph;
  std::vector<NodeId> destinations;
  std::vector<EventId> ids;
};

/// One candidate of a pool.
struct Candidate {
  NodeId node;
  CandidateKind kind;
  Timestamp met;
  Timestamp seen;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

std::vector<Candidate> row(const Candidates& pool, std::size_t i) {
  std::vector<Candidate> candidates;
  const auto width = static_cast<std::size_t>(pool.width);
  for (std::size_t at = i * width; at < (i + 1) * width; ++at) {
    candidates.push_back({pool.nodes.at(at), pool.kinds.at(at), pool.met.at(at), pool.seen.at(at)});
  }
  return candidates;
}

std::vector<std::vector<Candidate>> rows(const Candidates& pool) {
  std::vector<std::vector<Candidate>> all;
  for (std::size_t i = 0; i * static_cast<std::size_t>(pool.width) < pool.nodes.size(); ++i) {
    all.push_back(row(pool, i));
  }
  return all;
}

/// Checks one pool against its definition, by loops. The counts are exact.
void expect_pool(const Network& network, NodeId u, Timestamp t, const PoolShape& shape,
                 const std::vector<NodeId>& hard, const std::vector<Candidate>& pool) {
  ASSERT_EQ(static_cast<std::int64_t>(pool.size()), shape.size());
  std::map<NodeId, Timestamp> history = naive_history(network.links, u, t);
  std::set<NodeId> free;
  for (NodeId v : network.destinations) {
    if (!network.partner_at(u, v, t)) free.insert(v);
  }
  std::size_t at = 0;
  for (; at < hard.size(); ++at) {
    ASSERT_EQ(pool[at].node, hard[at]) << "hard ones come first, in the order of the cache";
    ASSERT_EQ(pool[at].kind, CandidateKind::kHard);
    history.erase(hard[at]);
    free.erase(hard[at]);
  }
  const std::size_t historical =
      at + std::min(static_cast<std::size_t>(shape.historical), history.size());
  for (; at < historical; ++at) {
    ASSERT_EQ(pool[at].kind, CandidateKind::kHistorical);
    ASSERT_EQ(history.erase(pool[at].node), 1u) << "not in H, hard already, or twice";
    free.erase(pool[at].node);
  }
  const std::size_t distinct = std::min(pool.size(), at + free.size());
  for (; at < distinct; ++at) {
    ASSERT_EQ(pool[at].kind, CandidateKind::kRandom);
    ASSERT_EQ(free.erase(pool[at].node), 1u) << "no destination, a partner at t, or twice";
  }
  ASSERT_GT(distinct, 0u) << "such networks have a test of their own";
  for (; at < pool.size(); ++at) ASSERT_EQ(pool[at], pool[at - distinct]) << "repeated in order";
  for (const Candidate& candidate : pool) {
    ASSERT_FALSE(network.partner_at(u, candidate.node, t));
    ASSERT_EQ(candidate.met, network.last_met(u, candidate.node, t));
    ASSERT_EQ(candidate.seen, network.last_seen(candidate.node, t));
  }
}

std::vector<Network> random_networks() {
  std::vector<Network> networks;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const bool bipartite = seed % 2 == 1;
    networks.emplace_back(random_log(seed, {.nodes = 28, .events = 90, .bipartite = bipartite}));
    // Crowded: few nodes, many ties, some pools are larger than what is left.
    networks.emplace_back(
        random_log(seed, {.nodes = 12, .events = 90, .distinct_times = 9, .bipartite = bipartite}));
  }
  return networks;
}

TEST(PoolShapeTest, LiteralValues) {
  const auto counts = [](const PoolShape& shape) {
    return std::vector<std::int64_t>{shape.hard, shape.historical, shape.random};
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(counts(early_pool(8, 0.6)), (Counts{0, 5, 3})) << "4.8 is rounded";
  EXPECT_EQ(counts(late_pool(8, 0.6)), (Counts{4, 2, 2})) << "2.4 is rounded";
  EXPECT_EQ(counts(early_pool(10, 0.6)), (Counts{0, 6, 4}));
  EXPECT_EQ(counts(late_pool(10, 0.6)), (Counts{5, 3, 2}));
  EXPECT_EQ(counts(early_pool(8, 0)), (Counts{0, 0, 8}));
  EXPECT_EQ(counts(early_pool(8, 1)), (Counts{0, 8, 0}));
  EXPECT_EQ(counts(late_pool(8, 1)), (Counts{4, 4, 0}));
  EXPECT_EQ(counts(late_pool(2, 0.6)), (Counts{1, 1, 0}));
}

TEST(NegativePoolTest, EarlyPoolsAreAsDefined) {
  for (const Network& network : random_networks()) {
    for (const auto& [size, gamma] : std::vector<std::pair<std::int64_t, double>>{
             {8, 0.6}, {2, 0.5}, {6, 0}, {6, 1}, {40, 0.6}}) {
      const Candidates pool = network.pool(size, gamma).build(network.all(), nullptr, kKey);
      ASSERT_EQ(pool.width, size);
      for (EventId e = 0; e < network.log.size(); ++e) {
        ASSERT_NO_FATAL_FAILURE(expect_pool(network, network.log.src[e], network.log.time[e],
                                            early_pool(size, gamma), {},
                                            row(pool, static_cast<std::size_t>(e))))
            << "event " << e << ", M " << size;
      }
    }
  }
}

/// A cache with entries for the events `from` chooses, out of pools of this network.
template <class From>
HardCache cache_of(const Network& network, const NegativePool& pool, std::int64_t size,
                   const From& from) {
  HardCache cache(network.log.size(), size / 2);
  const Candidates early = pool.build(network.all(), nullptr, kKey.split(1));
  const auto width = static_cast<std::size_t>(size);
  const std::vector<float> p(width, 0.5F);
  for (EventId e = 0; e < network.log.size(); ++e) {
    if (!from(e)) continue;
    const auto nodes = std::span(early.nodes).subspan(static_cast<std::size_t>(e) * width, width);
    cache.refresh(e, nodes, p, false, 0, kKey.split(static_cast<std::uint64_t>(e)));
  }
  return cache;
}

TEST(NegativePoolTest, LatePoolsAreAsDefined) {
  for (const Network& network : random_networks()) {
    for (const auto& [size, gamma] :
         std::vector<std::pair<std::int64_t, double>>{{8, 0.6}, {2, 0.5}, {6, 0}, {12, 1}}) {
      const NegativePool pools = network.pool(size, gamma);
      const HardCache cache = cache_of(network, pools, size, [](EventId e) { return e % 3 != 0; });
      const Candidates late = pools.build(network.all(), &cache, kKey);
      const Candidates early = pools.build(network.all(), nullptr, kKey);
      for (EventId e = 0; e < network.log.size(); ++e) {
        const auto i = static_cast<std::size_t>(e);
        if (!cache.has(e)) {
          ASSERT_EQ(row(late, i), row(early, i)) << "without an entry the pool is an early one";
          continue;
        }
        const auto hard = cache.nodes(e);
        ASSERT_NO_FATAL_FAILURE(expect_pool(network, network.log.src[e], network.log.time[e],
                                            late_pool(size, gamma), {hard.begin(), hard.end()},
                                            row(late, i)))
            << "event " << e << ", M " << size;
      }
    }
  }
}

TEST(NegativePoolTest, ABatchFindsItsEntriesInTheCache) {
  const Network network(random_log(1, {.nodes = 28, .events = 90}));
  const NegativePool pools = network.pool();
  const HardCache cache = cache_of(network, pools, 8, [](EventId) { return true; });
  const Candidates part = pools.build(network.all().part(30, 50), &cache, kKey);
  for (std::size_t i = 0; i < 20; ++i) {
    const auto hard = cache.nodes(30 + static_cast<EventId>(i));
    for (std::size_t j = 0; j < hard.size(); ++j) {
      EXPECT_EQ(part.nodes[i * 8 + j], hard[j]) << "event " << 30 + i;
    }
  }
}

/// The log with other nodes in every event that `hidden` names; times stay.
template <class Hidden>
EventLog with_others(const EventLog& log, std::uint64_t seed, const Hidden& hidden) {
  Rng rng(seed, Stream::kTest);
  std::vector<Event> events = events_of(log);
  const auto any = [&] {
    return static_cast<NodeId>(rng.below(static_cast<std::uint64_t>(log.num_nodes)));
  };
  for (Event& event : events) {
    if (!hidden(event)) continue;
    do {
      event = {any(), any(), event.time};
    } while (!hidden(event));
  }
  return make_log(events, log.num_nodes);
}

// Whatever happens after t, and whatever happens at t without u, changes nothing: nodes, order,
// kinds and both times. What u itself does at t may not be a candidate, so that much is known.
TEST(NegativePoolTest, NeverDependsOnTheFuture) {
  for (const bool bipartite : {false, true}) {
    const Network network(
        random_log(7, {.nodes = 24, .events = 90, .distinct_times = 20, .bipartite = bipartite}));
    const HardCache cache =
        cache_of(network, network.pool(), 8, [](EventId e) { return e % 2 == 0; });
    const auto pools = rows(network.pool().build(network.all(), &cache, kKey));
    std::int64_t differences = 0;
    for (EventId e = 0; e < network.log.size(); e += 4) {
      const NodeId u = network.log.src[e];
      const Timestamp t = network.log.time[e];
      const EventLog changed =
          with_others(network.log, static_cast<std::uint64_t>(e), [&](const Event& event) {
            return event.time > t || (event.time == t && event.src != u && event.dst != u);
          });
      Network other(changed);
      other.destinations = network.destinations;
      const auto again = rows(other.pool().build(network.all(), &cache, kKey));
      const auto i = static_cast<std::size_t>(e);
      ASSERT_EQ(again[i], pools[i]) << "event " << e;
      differences += again == pools ? 0 : 1;
    }
    EXPECT_GT(differences, 10) << "the changes must matter to later pools";
  }
}

/// A source, 0, with 12 former partners 1 .. 12 and 12 other destinations 13 .. 24; at time 100 it
/// meets 25.
Network popular_source() {
  std::vector<Event> events;
  for (NodeId v = 1; v <= 12; ++v) events.push_back({0, v, static_cast<Timestamp>(v)});
  for (NodeId v = 13; v <= 24; ++v) events.push_back({26, v, static_cast<Timestamp>(v)});
  events.push_back({0, 25, 100});
  return Network(make_log(events, 27));
}

constexpr EventId kMeeting = 24;
constexpr std::int64_t kTrials = 4000;

/// How often each node is a candidate of that kind for the meeting at time 100.
std::vector<std::int64_t> frequencies(const Network& network, const NegativePool& pools,
                                      const HardCache* cache, CandidateKind kind) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(network.log.num_nodes));
  const EventBatch batch = network.all().part(kMeeting, kMeeting + 1);
  for (std::int64_t trial = 0; trial < kTrials; ++trial) {
    const Candidates pool =
        pools.build(batch, cache, kKey.split(static_cast<std::uint64_t>(trial)));
    for (const Candidate& candidate : row(pool, 0)) {
      if (candidate.kind == kind) ++counts[static_cast<std::size_t>(candidate.node)];
    }
  }
  return counts;
}

TEST(NegativePoolTest, HistoricalOnesAreUniformOverTheHistory) {
  const Network network = popular_source();
  const auto counts =
      frequencies(network, network.pool(8, 0.6), nullptr, CandidateKind::kHistorical);
  EXPECT_TRUE(equally_included({counts.begin() + 1, counts.begin() + 13}, kTrials, 5));
}

TEST(NegativePoolTest, HistoricalOnesAreUniformOverTheHistoryWithoutTheHardOnes) {
  const Network network = popular_source();
  HardCache cache(network.log.size(), 4);
  const std::vector<NodeId> hard = {2, 5, 11, 17};
  cache.refresh(kMeeting, hard, std::vector<float>(4, 0.5F), false, 0, kKey);
  const auto counts =
      frequencies(network, network.pool(8, 0.6), &cache, CandidateKind::kHistorical);
  std::vector<std::int64_t> others;
  for (NodeId v = 1; v <= 12; ++v) {
    const std::int64_t count = counts[static_cast<std::size_t>(v)];
    if (std::find(hard.begin(), hard.end(), v) == hard.end()) {
      others.push_back(count);
    } else {
      EXPECT_EQ(count, 0) << v << " is hard already";
    }
  }
  EXPECT_TRUE(equally_included(others, kTrials, 2));
}

TEST(NegativePoolTest, RandomOnesAreUniformOverTheOtherDestinations) {
  const Network network = popular_source();
  const auto counts = frequencies(network, network.pool(8, 0), nullptr, CandidateKind::kRandom);
  EXPECT_EQ(counts[25], 0) << "the partner at t";
  EXPECT_TRUE(equally_included({counts.begin() + 1, counts.begin() + 25}, kTrials, 8));
}

TEST(NegativePoolTest, ALargePoolTakesManyFromTheHistory) {
  std::vector<Event> events;
  for (NodeId v = 1; v <= 300; ++v) events.push_back({0, v, static_cast<Timestamp>(v)});
  events.push_back({0, 301, 1000});
  const Network network(make_log(events, 302));
  const Candidates pool = network.pool(200, 0.6).build(network.all().part(300, 301), nullptr, kKey);
  expect_pool(network, 0, 1000, early_pool(200, 0.6), {}, row(pool, 0));
  EXPECT_EQ(std::count(pool.kinds.begin(), pool.kinds.end(), CandidateKind::kHistorical), 120);
}

TEST(NegativePoolTest, ASourceWithoutHistoryGetsRandomOnes) {
  std::vector<Event> events;
  for (NodeId v = 1; v <= 20; ++v) events.push_back({21, v, static_cast<Timestamp>(v)});
  events.push_back({0, 3, 50});
  const Network network(make_log(events, 22));
  const auto pool = rows(network.pool().build(network.all().part(20, 21), nullptr, kKey)).at(0);
  expect_pool(network, 0, 50, early_pool(8, 0.6), {}, pool);
  for (const Candidate& candidate : pool) {
    EXPECT_EQ(candidate.kind, CandidateKind::kRandom);
    EXPECT_EQ(candidate.met, kNever);
    EXPECT_EQ(candidate.seen, static_cast<Timestamp>(candidate.node));
  }
}

TEST(NegativePoolTest, TwoDestinations) {
  const Network network(make_log({{0, 1, 1}, {0, 2, 2}, {0, 1, 3}}, 3));
  const auto pools = rows(network.pool().build(network.all(), nullptr, kKey));
  const auto repeated = [](NodeId node, CandidateKind kind, Timestamp met) {
    return std::vector<Candidate>(8, {node, kind, met, met});
  };
  EXPECT_EQ(pools.at(0), repeated(2, CandidateKind::kRandom, kNever));
  EXPECT_EQ(pools.at(1), repeated(1, CandidateKind::kHistorical, 1));
  EXPECT_EQ(pools.at(2), repeated(2, CandidateKind::kHistorical, 2));
}

// Nothing is allowed; the pool must still be full, of destinations.
TEST(NegativePoolTest, WhereEveryDestinationIsAPartnerAtTheTimeAnyWillDo) {
  const Network network(make_log({{0, 1, 1}, {0, 1, 5}, {0, 2, 5}, {0, 3, 5}}, 4));
  const auto pools = rows(network.pool().build(network.all(), nullptr, kKey));
  for (const EventId e : {1, 2, 3}) {
    std::set<NodeId> nodes;
    for (const Candidate& candidate : pools.at(static_cast<std::size_t>(e))) {
      EXPECT_EQ(candidate.kind, CandidateKind::kRandom);
      EXPECT_EQ(candidate.met, candidate.node == 1 ? 1 : kNever);
      nodes.insert(candidate.node);
    }
    EXPECT_TRUE(std::ranges::includes(std::set<NodeId>{1, 2, 3}, nodes));
  }
}

TEST(NegativePoolTest, AllTimesEqual) {
  std::vector<Event> events = events_of(random_log(5, {.nodes = 40, .events = 60}));
  for (Event& event : events) event.time = 7;
  const Network network(make_log(events, 40));
  const Candidates pool = network.pool().build(network.all(), nullptr, kKey);
  for (EventId e = 0; e < network.log.size(); ++e) {
    ASSERT_NO_FATAL_FAILURE(expect_pool(network, network.log.src[e], 7, early_pool(8, 0.6), {},
                                        row(pool, static_cast<std::size_t>(e))));
  }
  EXPECT_EQ(std::count(pool.kinds.begin(), pool.kinds.end(), CandidateKind::kRandom), 8 * 60);
  EXPECT_EQ(std::count(pool.seen.begin(), pool.seen.end(), kNever), 8 * 60);
}

TEST(NegativePoolTest, AFunctionOfItsKey) {
  const Network network(random_log(2, {.nodes = 28, .events = 90}));
  const NegativePool pools = network.pool();
  const auto once = rows(pools.build(network.all(), nullptr, kKey));
  EXPECT_EQ(rows(pools.build(network.all(), nullptr, kKey)), once);
  EXPECT_NE(rows(pools.build(network.all(), nullptr, kKey.split(9))), once);
}

TEST(NegativePoolTest, EqualEventsHaveDrawsOfTheirOwn) {
  std::vector<Event> events = events_of(popular_source().log);
  for (int copy = 0; copy < 5; ++copy) events.push_back(events.back());
  const Network network(make_log(events, 27));
  const auto pools = rows(network.pool().build(network.all(), nullptr, kKey));
  for (std::size_t i = kMeeting + 1; i < pools.size(); ++i) EXPECT_NE(pools[i], pools[kMeeting]);
}

TEST(NegativePoolTest, ThreadCountChangesNothing) {
  const Network network(random_log(3, {.nodes = 60, .events = 1000, .distinct_times = 300}));
  const NegativePool pools = network.pool();
  const HardCache cache = cache_of(network, pools, 8, [](EventId e) { return e % 2 == 0; });
  const auto built = [&](int threads) {
    const ScopedThreads scope(threads);
    return rows(pools.build(network.all(), &cache, kKey));
  };
  EXPECT_EQ(built(2), built(1));
}

using PairList = std::vector<std::pair<NodeId, NodeId>>;
std::vector<PairList> pairs_of_rows(const ExtraPairs& extra, std::int64_t rows) {
  EXPECT_TRUE(std::is_sorted(extra.rows.begin(), extra.rows.end()));
  std::vector<PairList> all(static_cast<std::size_t>(rows));
  for (std::size_t x = 0; x < extra.rows.size(); ++x) {
    all.at(static_cast<std::size_t>(extra.rows[x])).emplace_back(extra.src[x], extra.dst[x]);
  }
  return all;
}

std::vector<NodeId> sources_of(const EventLog& log) {
  const std::set<NodeId> nodes(log.src.begin(), log.src.end());
  return {nodes.begin(), nodes.end()};
}

constexpr Corruption kCorruptions[] = {Corruption::kDestination, Corruption::kBoth,
                                       Corruption::kHalf};

/// The random negatives of an event that keep its source, and those with another one.
std::pair<PairList, PairList> by_source(const PairList& pairs, Corruption corruption,
                                        std::size_t event) {
  std::size_t replaced = 0;
  if (corruption == Corruption::kBoth) replaced = pairs.size();
  if (corruption == Corruption::kHalf) replaced = (pairs.size() + event % 2) / 2;
  const auto cut = pairs.end() - static_cast<std::ptrdiff_t>(replaced);
  return {{pairs.begin(), cut}, {cut, pairs.end()}};
}

bool one_begins_with_the_other(const PairList& a, const PairList& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first == a.end() ||
         std::mismatch(a.begin(), a.end(), b.begin(), b.end()).second == b.end();
}

// A batch is only a part of the events: where it is cut changes no candidate and, as far as an
// event has them in both, no random negative. The number of those for an event depends on the
// batch, so of each source the shorter list is the beginning of the longer one.
TEST(NegativePoolTest, WhereBatchesAreCutChangesNoDraw) {
  for (const Network& network : random_networks()) {
    const NegativePool pools = network.pool();
    const History pairs(network.log);
    const HardCache cache = cache_of(network, pools, 8, [](EventId e) { return e % 2 == 0; });
    for (const Corruption corruption : kCorruptions) {
      const RandomPairs random(&pairs, network.destinations, sources_of(network.log), corruption);
      const auto events = static_cast<std::size_t>(network.log.size());
      const Candidates whole =
          pools.build(network.all(), &cache, kKey, {&random, 3 * network.log.size()});
      const auto whole_rows = rows(whole);
      const auto whole_pairs = pairs_of_rows(whole.extra, network.log.size());
      for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{40}}) {
        for (std::size_t begin = 0; begin < events; begin += size) {
          const EventBatch batch = network.all().part(begin, std::min(events, begin + size));
          const std::int64_t count = 2 * batch.size() + 1;
          const Candidates part = pools.build(batch, &cache, kKey, {&random, count});
          const auto part_rows = rows(part);
          const auto part_pairs = pairs_of_rows(part.extra, batch.size());
          ASSERT_EQ(part.extra.size(), count);
          for (std::size_t i = 0; i < part_rows.size(); ++i) {
            ASSERT_EQ(part_rows[i], whole_rows[begin + i]) << "event " << begin + i;
            ASSERT_EQ(part.late[i], whole.late[begin + i]);
            const auto [kept, replaced] = by_source(part_pairs[i], corruption, begin + i);
            const auto [all_kept, all_replaced] =
                by_source(whole_pairs[begin + i], corruption, begin + i);
            ASSERT_TRUE(one_begins_with_the_other(kept, all_kept)) << "event " << begin + i;
            ASSERT_TRUE(one_begins_with_the_other(replaced, all_replaced)) << "event " << begin + i;
          }
        }
      }
    }
  }
}

// The same events under other numbers have draws of their own, wherever they stand in a batch.
TEST(NegativePoolTest, DrawsBelongToTheNumberOfTheEvent) {
  const Network network(random_log(4, {.nodes = 40, .events = 90}));
  const NegativePool pools = network.pool(8, 0);
  const auto plain = rows(pools.build(network.all(), nullptr, kKey));
  std::vector<EventId> numbers(network.ids.rbegin(), network.ids.rend());
  EventBatch renumbered = network.all();
  renumbered.events = numbers;
  EXPECT_NE(rows(pools.build(renumbered, nullptr, kKey)), plain);
  EventBatch elsewhere = network.all();
  elsewhere.first = 1000;
  EXPECT_EQ(rows(pools.build(elsewhere, nullptr, kKey)), plain) << "without a cache";
}

TEST(NegativePoolTest, SaysWhichPoolsAreLate) {
  const Network network(random_log(1, {.nodes = 28, .events = 90}));
  const NegativePool pools = network.pool();
  const HardCache cache = cache_of(network, pools, 8, [](EventId e) { return e % 3 == 0; });
  const Candidates early = pools.build(network.all(), nullptr, kKey);
  EXPECT_EQ(early.late, std::vector<std::uint8_t>(90, 0));
  const Candidates part = pools.build(network.all().part(31, 60), &cache, kKey);
  ASSERT_EQ(part.late.size(), 29u);
  for (std::size_t i = 0; i < part.late.size(); ++i) {
    EXPECT_EQ(part.late[i], (31 + i) % 3 == 0 ? 1 : 0) << i;
  }
}

TEST(NegativePoolTest, RandomNegativesBesideItAreThoseOfRandomPairs) {
  for (const Network& network : random_networks()) {
    const History pairs(network.log);
    for (const Corruption corruption : kCorruptions) {
      const RandomPairs random(&pairs, network.destinations, sources_of(network.log), corruption);
      for (const std::int64_t count : {0, 1, 90, 203}) {
        const Candidates built =
            network.pool().build(network.all(), nullptr, kKey, {&random, count});
        const ExtraPairs alone = random.draw(network.all(), count, kKey);
        ASSERT_EQ(built.extra.rows, alone.rows);
        ASSERT_EQ(built.extra.src, alone.src);
        ASSERT_EQ(built.extra.dst, alone.dst);
        ASSERT_EQ(rows(built), rows(network.pool().build(network.all(), nullptr, kKey)))
            << "they change no candidate";
      }
    }
  }
}

// One order serves both: of a pool without history and as many random negatives that keep the
// source, all nodes are the same.
TEST(NegativePoolTest, RandomCandidatesAndRandomNegativesAreTheSameNodes) {
  const Network network = popular_source();
  const History pairs(network.log);
  const RandomPairs random(&pairs, network.destinations, {}, Corruption::kDestination);
  const EventBatch batch = network.all().part(kMeeting, kMeeting + 1);
  const Candidates pool = network.pool(8, 0).build(batch, nullptr, kKey, {&random, 8});
  EXPECT_EQ(pool.extra.dst, pool.nodes);
}

TEST(NegativePoolTest, ThreadCountChangesNoRandomNegative) {
  const Network network(random_log(3, {.nodes = 60, .events = 1000, .distinct_times = 300}));
  const History pairs(network.log);
  const RandomPairs random(&pairs, network.destinations, sources_of(network.log),
                           Corruption::kHalf);
  const auto built = [&](int threads) {
    const ScopedThreads scope(threads);
    return network.pool().build(network.all(), nullptr, kKey, {&random, 2500}).extra;
  };
  const ExtraPairs one = built(1);
  const ExtraPairs two = built(2);
  EXPECT_EQ(two.rows, one.rows);
  EXPECT_EQ(two.src, one.src);
  EXPECT_EQ(two.dst, one.dst);
}

}  // namespace
}  // namespace curnm
