#include "curnm/graph/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "curnm/base/error.h"
#include "support/naive.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::all_events;
using testing::make_log;
using testing::naive_entries;
using testing::random_log;

constexpr Timestamp kForever = -kNever;

/// Each quantile is one of the two values around its position (or between them), and exactly the
/// value where the position is whole: true for every usual definition.
void expect_quantiles(const Quantiles& quantiles, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  ASSERT_EQ(quantiles.count, static_cast<std::int64_t>(values.size()));
  if (values.empty()) return;
  for (std::size_t i = 0; i < quantiles.values.size(); ++i) {
    const double position = Quantiles::kPoints[i] * static_cast<double>(values.size() - 1);
    EXPECT_GE(quantiles.values[i], values[static_cast<std::size_t>(std::floor(position + 1e-9))]);
    EXPECT_LE(quantiles.values[i], values[static_cast<std::size_t>(std::ceil(position - 1e-9))]);
  }
}

double naive_proximity(const EventLog& log) {
  std::map<NodeId, int> earlier;
  double sum = 0;
  int events = 0;
  for (NodeId u : log.src) {
    const int p = earlier[u]++;
    if (p == 0) continue;
    sum += (p + 1) / 2.0;
    ++events;
  }
  return events == 0 ? 0 : sum / events;
}

double naive_recency(const EventLog& log) {
  int recent = 0;
  for (EventId e = 0; e < log.size(); ++e) {
    Timestamp previous = kNever;  // the source's latest time as source before this event's time
    for (EventId f = 0; f < log.size(); ++f) {
      if (log.src[f] == log.src[e] && log.time[f] < log.time[e]) previous = log.time[f];
    }
    recent += testing::naive_occurs(log, log.src[e], log.dst[e], previous, previous) ? 1 : 0;
  }
  return static_cast<double>(recent) / static_cast<double>(log.size());
}

TEST(StatisticsTest, HandComputedExample) {
  const EventLog log = make_log({{0, 1, 0},
                                 {0, 2, 0},
                                 {1, 0, 10},
                                 {0, 1, 10},
                                 {3, 3, 20},
                                 {0, 1, 20},
                                 {0, 2, 30},
                                 {4, 3, 60}},
                                6);
  const Statistics s = compute_statistics(log);
  EXPECT_EQ(s.nodes, 5);  // node 5 is isolated
  EXPECT_EQ(s.events, 8);
  EXPECT_EQ(s.sources, 4);         // 0 1 3 4
  EXPECT_EQ(s.destinations, 4);    // 0 1 2 3
  EXPECT_EQ(s.directed_pairs, 5);  // 01 02 10 33 43
  EXPECT_EQ(s.distinct_times, 5);
  EXPECT_EQ(s.self_loops, 1);
  EXPECT_FALSE(s.bipartite);
  EXPECT_EQ(s.first_time, 0);
  EXPECT_EQ(s.last_time, 60);
  EXPECT_DOUBLE_EQ(s.proximity, 1.75);  // node 0 has p = 1 2 3 4: (1 + 1.5 + 2 + 2.5) / 4
  EXPECT_DOUBLE_EQ(s.recency, 0.25);    // 0 -> 1 at 10 (after {1, 2} at 0) and at 20 (after {1})
  EXPECT_DOUBLE_EQ(s.repetition, 0.5);  // {01} {02} {33} {34} of 8
  EXPECT_EQ(s.d_max, 6);                // node 0
  EXPECT_EQ(s.density_nodes, 6);
  EXPECT_DOUBLE_EQ(s.density, 16.0 / (6 * 5 * 5));
  EXPECT_EQ(s.degree.count, 5);
  EXPECT_EQ(s.degree.values[0], 1);  // 1 2 2 4 6
  EXPECT_EQ(s.degree.values[1], 2);
  EXPECT_EQ(s.degree.values[2], 2);
  EXPECT_EQ(s.degree.values[3], 4);
  EXPECT_EQ(s.degree.values[6], 6);
  expect_quantiles(s.degree, {6, 4, 2, 2, 1});
  expect_quantiles(s.gap, {0, 10, 0, 10, 10, 10, 0, 10, 30, 40});
}

TEST(StatisticsTest, DensityCountsTheNodesThatItIsTold) {
  const EventLog log = make_log({{0, 1, 1}, {0, 1, 1}, {0, 2, 5}}, 3);
  const Statistics s = compute_statistics(log, /*density_nodes=*/10);
  EXPECT_EQ(s.density_nodes, 10);
  EXPECT_DOUBLE_EQ(s.density, 6.0 / (10 * 9 * 2));
  EXPECT_EQ(s.nodes, 3);
  EXPECT_DOUBLE_EQ(compute_statistics(log).density, 6.0 / (4 * 3 * 2));
}

TEST(StatisticsTest, RecencyLooksAtThePreviousDistinctTime) {
  // Partners at the event's own time do not count, nor those of two times ago.
  EXPECT_EQ(compute_statistics(make_log({{0, 1, 5}, {0, 1, 5}}, 2)).recency, 0);
  EXPECT_EQ(compute_statistics(make_log({{0, 1, 5}, {0, 2, 6}, {0, 1, 7}}, 3)).recency, 0);
  // Each of two events at 6 finds its partner among the two at 5.
  EXPECT_EQ(compute_statistics(make_log({{0, 1, 5}, {0, 2, 5}, {0, 2, 6}, {0, 1, 6}}, 3)).recency,
            0.5);
  // What the source did as a destination does not count.
  EXPECT_EQ(compute_statistics(make_log({{1, 0, 5}, {0, 1, 6}}, 2)).recency, 0);
}

TEST(StatisticsTest, LargestDegreeCountsSelfLoopsTwice) {
  EXPECT_EQ(compute_statistics(make_log({{0, 1, 0}, {0, 2, 1}, {3, 3, 2}, {3, 3, 3}}, 4)).d_max, 4);
}

TEST(StatisticsTest, OneEvent) {
  const Statistics s = compute_statistics(make_log({{0, 1, 7}}, 2));
  EXPECT_EQ(s.nodes, 2);
  EXPECT_TRUE(s.bipartite);
  EXPECT_EQ(s.proximity, 0);
  EXPECT_EQ(s.recency, 0);
  EXPECT_EQ(s.repetition, 0);
  EXPECT_EQ(s.d_max, 1);
  EXPECT_EQ(s.first_time, 7);
  EXPECT_EQ(s.last_time, 7);
  EXPECT_DOUBLE_EQ(s.density, 2.0 / (3 * 2));
  EXPECT_EQ(s.degree.count, 2);
  EXPECT_EQ(s.gap.count, 0);
  EXPECT_EQ(std::accumulate(s.events_over_time.begin(), s.events_over_time.end(), 0), 1);
}

TEST(StatisticsTest, NoEventsIsAnError) {
  EXPECT_THROW(compute_statistics(make_log({}, 3)), Error);
}

TEST(StatisticsTest, MatchesLoopsOnRandomLogs) {
  for (int round = 0; round < 40; ++round) {
    const EventLog log =
        random_log(static_cast<std::uint64_t>(round), {.nodes = 6 + round,
                                                       .events = 30 + round * 5,
                                                       .distinct_times = 10 + 5 * (round % 4),
                                                       .bipartite = round % 3 == 0});
    const Statistics s = compute_statistics(log);
    const auto events = static_cast<double>(log.size());

    std::set<NodeId> nodes(log.src.begin(), log.src.end());
    EXPECT_EQ(s.sources, static_cast<std::int64_t>(nodes.size()));
    nodes.insert(log.dst.begin(), log.dst.end());
    EXPECT_EQ(s.nodes, static_cast<std::int64_t>(nodes.size()));
    EXPECT_EQ(s.density_nodes, s.nodes + 1);
    const std::set<NodeId> destinations(log.dst.begin(), log.dst.end());
    EXPECT_EQ(s.destinations, static_cast<std::int64_t>(destinations.size()));
    const std::set<Timestamp> times(log.time.begin(), log.time.end());
    EXPECT_EQ(s.distinct_times, static_cast<std::int64_t>(times.size()));
    EXPECT_EQ(s.first_time, *times.begin());
    EXPECT_EQ(s.last_time, *times.rbegin());
    EXPECT_EQ(s.bipartite, s.nodes == s.sources + s.destinations);

    std::set<testing::NodePair> undirected;
    std::int64_t self_loops = 0;
    for (EventId e = 0; e < log.size(); ++e) {
      undirected.insert(std::minmax(log.src[e], log.dst[e]));
      self_loops += log.src[e] == log.dst[e] ? 1 : 0;
    }
    EXPECT_EQ(s.self_loops, self_loops);
    EXPECT_EQ(s.directed_pairs,
              static_cast<std::int64_t>(testing::naive_pairs(log, kNever, kForever).size()));
    EXPECT_DOUBLE_EQ(s.repetition, 1 - static_cast<double>(undirected.size()) / events);
    EXPECT_DOUBLE_EQ(s.proximity, naive_proximity(log));
    EXPECT_DOUBLE_EQ(s.recency, naive_recency(log));
    const auto v = static_cast<double>(nodes.size() + 1);
    EXPECT_DOUBLE_EQ(s.density, 2 * events / (v * (v - 1) * static_cast<double>(times.size())));

    std::vector<double> degrees;
    std::vector<double> gaps;
    for (NodeId node : nodes) {
      const auto entries = naive_entries(log, all_events(log), node, kNever, kForever);
      degrees.push_back(static_cast<double>(entries.size()));
      for (std::size_t i = 1; i < entries.size(); ++i) {
        gaps.push_back(entries[i].time - entries[i - 1].time);
      }
    }
    std::vector<std::int64_t> ends(static_cast<std::size_t>(log.num_nodes), 0);
    for (EventId e = 0; e < log.size(); ++e) {
      ++ends[static_cast<std::size_t>(log.src[e])];
      ++ends[static_cast<std::size_t>(log.dst[e])];
    }
    EXPECT_EQ(s.d_max, *std::max_element(ends.begin(), ends.end()));
    expect_quantiles(s.degree, degrees);
    expect_quantiles(s.gap, gaps);
  }
}

// One slice per unit of time, events in the middle of slices and at both ends of the span: no
// rounding can move one to another slice.
TEST(StatisticsTest, SlicesOfTimeAreEqual) {
  const EventLog any = random_log(0);
  const auto slices = compute_statistics(any).events_over_time.size();
  ASSERT_GT(slices, 2u);
  std::vector<std::int64_t> expected(slices);
  std::vector<testing::Event> events = {{0, 1, 100}};
  expected.front() = 1;
  Rng rng(1, Stream::kTest);
  for (std::size_t slice = 0; slice < slices; ++slice) {
    expected[slice] += static_cast<std::int64_t>(rng.below(4));
    while (static_cast<std::int64_t>(events.size()) <
           std::accumulate(expected.begin(), expected.end(), std::int64_t{0})) {
      events.push_back({0, 1, 100.5 + static_cast<double>(slice)});
    }
  }
  events.push_back({0, 1, 100 + static_cast<double>(slices)});
  ++expected.back();
  EXPECT_EQ(compute_statistics(make_log(events, 2)).events_over_time, expected);
}

}  // namespace
}  // namespace curnm
