#include "curnm/sampling/random_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "support/chi_square.h"
#include "support/naive.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::make_log;
using testing::naive_occurs;
using testing::random_log;

const Rng kKey(8, Stream::kTest);
constexpr Corruption kCorruptions[] = {Corruption::kDestination, Corruption::kBoth,
                                       Corruption::kHalf};

struct Network {
  explicit Network(EventLog events)
      : log(std::move(events)), pairs(log), ids(testing::all_events(log)) {
    const std::set<NodeId> from(log.src.begin(), log.src.end());
    const std::set<NodeId> to(log.dst.begin(), log.dst.end());
    sources.assign(from.begin(), from.end());
    destinations.assign(to.begin(), to.end());
  }

  RandomPairs random(Corruption corruption) const {
    return {&pairs, destinations, sources, corruption};
  }
  EventBatch all() const { return {log.src.span(), log.dst.span(), log.time.span(), ids}; }

  EventLog log;
  History pairs;
  std::vector<EventId> ids;
  std::vector<NodeId> sources;
  std::vector<NodeId> destinations;
};

TEST(RandomPairsTest, SharesAreEvenAndAddUp) {
  for (const std::int64_t rows : {1, 3, 7, 200}) {
    for (const std::int64_t count : {0, 1, 6, 200, 1001}) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t share = RandomPairs::share(count, i, rows);
        EXPECT_GE(share, count / rows);
        EXPECT_LE(share, count / rows + 1);
        sum += share;
      }
      EXPECT_EQ(sum, count);
    }
  }
}

// Every pair against loops: of the right row, with the right source, no event at the time, each
// destination once per source while there are enough.
TEST(RandomPairsTest, AreAsDefined) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Network network(random_log(
        seed, {.nodes = 14, .events = 90, .distinct_times = 12, .bipartite = seed % 2 == 1}));
    for (const Corruption corruption : kCorruptions) {
      for (const std::int64_t count : {90, 91, 300, 1500}) {
        const ExtraPairs drawn = network.random(corruption).draw(network.all(), count, kKey);
        ASSERT_EQ(drawn.size(), count);
        ASSERT_TRUE(std::is_sorted(drawn.rows.begin(), drawn.rows.end()));
        std::map<std::int64_t, std::vector<std::pair<NodeId, NodeId>>> by_row;
        for (std::size_t x = 0; x < drawn.rows.size(); ++x) {
          by_row[drawn.rows[x]].emplace_back(drawn.src[x], drawn.dst[x]);
        }
        for (std::int64_t i = 0; i < network.log.size(); ++i) {
          const std::int64_t share = RandomPairs::share(count, i, network.log.size());
          const auto& pairs = by_row[i];
          ASSERT_EQ(std::ssize(pairs), share);
          std::int64_t replaced = 0;
          if (corruption == Corruption::kBoth) replaced = share;
          if (corruption == Corruption::kHalf) replaced = (share + i % 2) / 2;
          std::set<NodeId> other;
          std::map<NodeId, std::vector<NodeId>> own;  // by part: kept, replaced
          for (std::int64_t k = 0; k < share; ++k) {
            const auto [src, dst] = pairs[static_cast<std::size_t>(k)];
            const bool kept = k < share - replaced;
            if (kept) {
              ASSERT_EQ(src, network.log.src[i]);
            } else {
              other.insert(src);
              ASSERT_TRUE(std::ranges::binary_search(network.sources, src));
            }
            own[kept ? 0 : 1].push_back(dst);
            ASSERT_TRUE(std::ranges::binary_search(network.destinations, dst));
            ASSERT_FALSE(
                naive_occurs(network.log, src, dst, network.log.time[i], network.log.time[i]));
          }
          ASSERT_LE(other.size(), 1u) << "one other source for all of them";
          for (const auto& [part, destinations] : own) {
            const NodeId src = part == 0 ? network.log.src[i] : *other.begin();
            std::size_t free = 0;
            for (NodeId dst : network.destinations) {
              const Timestamp t = network.log.time[i];
              free += naive_occurs(network.log, src, dst, t, t) ? 0 : 1;
            }
            const std::set<NodeId> distinct(destinations.begin(), destinations.end());
            ASSERT_EQ(distinct.size(), std::min(free, destinations.size()));
          }
        }
      }
    }
  }
}

TEST(RandomPairsTest, WhereEveryDestinationIsAnEventAnyWillDo) {
  const Network network(make_log({{0, 1, 5}, {0, 2, 5}, {0, 3, 5}}, 4));
  const ExtraPairs drawn = network.random(Corruption::kDestination).draw(network.all(), 12, kKey);
  ASSERT_EQ(drawn.size(), 12);
  for (NodeId dst : drawn.dst) EXPECT_TRUE(dst >= 1 && dst <= 3);
}

TEST(RandomPairsTest, KeepsSourcesWhereItSaysSo) {
  const Network network(random_log(1));
  EXPECT_TRUE(network.random(Corruption::kDestination).keeps_sources());
  EXPECT_FALSE(network.random(Corruption::kBoth).keeps_sources());
  EXPECT_FALSE(network.random(Corruption::kHalf).keeps_sources());
}

TEST(RandomPairsTest, EmptyBatchesAndNoPairsAtAll) {
  const Network network(random_log(1));
  const RandomPairs random = network.random(Corruption::kHalf);
  EXPECT_EQ(random.draw(network.all().part(5, 5), 0, kKey).size(), 0);
  EXPECT_EQ(random.draw(network.all(), 0, kKey).size(), 0);
}

// One event 0 -> 1 at a time of its own, drawn under 4000 keys; tolerances in chi_square.h.
TEST(RandomPairsTest, DestinationsAndSourcesAreUniform) {
  constexpr std::int64_t kTrials = 4000;
  std::vector<testing::Event> events;
  for (NodeId v = 1; v <= 12; ++v) events.push_back({20 + v % 4, v, 1.0 * v});
  events.push_back({0, 1, 100});
  const Network network(make_log(events, 24));
  const EventBatch batch = network.all().part(12, 13);
  std::vector<std::int64_t> destinations(13);
  std::vector<std::int64_t> sources(24);
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    const ExtraPairs kept =
        network.random(Corruption::kDestination).draw(batch, 4, kKey.split(trial));
    for (NodeId dst : kept.dst) ++destinations[static_cast<std::size_t>(dst)];
    const ExtraPairs both = network.random(Corruption::kBoth).draw(batch, 4, kKey.split(trial));
    ++sources[static_cast<std::size_t>(both.src[0])];
  }
  EXPECT_EQ(destinations[1], 0) << "the event itself";
  EXPECT_TRUE(
      testing::equally_included({destinations.begin() + 2, destinations.end()}, kTrials, 4));
  EXPECT_TRUE(
      testing::equally_frequent({sources[0], sources[20], sources[21], sources[22], sources[23]}));
}

TEST(RandomPairsTest, AFunctionOfTheKeyAndTheEvent) {
  const Network network(random_log(2, {.nodes = 40, .events = 60}));
  const RandomPairs random = network.random(Corruption::kHalf);
  const ExtraPairs once = random.draw(network.all(), 180, kKey);
  EXPECT_EQ(random.draw(network.all(), 180, kKey).dst, once.dst);
  EXPECT_NE(random.draw(network.all(), 180, kKey.split(1)).dst, once.dst);
  for (std::size_t i = 0; i < 60; ++i) {
    const ExtraPairs alone = random.draw(network.all().part(i, i + 1), 3, kKey);
    EXPECT_TRUE(
        std::equal(alone.dst.begin(), alone.dst.end(), once.dst.begin() + 3 * std::ptrdiff_t(i)));
    EXPECT_TRUE(
        std::equal(alone.src.begin(), alone.src.end(), once.src.begin() + 3 * std::ptrdiff_t(i)));
    EXPECT_EQ(alone.rows, std::vector<std::int64_t>(3, 0));
  }
}

}  // namespace
}  // namespace curnm
