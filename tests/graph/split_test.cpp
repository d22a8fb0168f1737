#include "curnm/graph/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "curnm/base/error.h"
#include "support/chi_square.h"
#include "support/naive.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::make_log;
using testing::random_log;

using Ids = std::vector<EventId>;

/// Events first .. last.
Ids ids_between(EventId first, EventId last) {
  Ids ids;
  for (EventId e = first; e <= last; ++e) ids.push_back(e);
  return ids;
}

/// Events 0 -> 1 at the given times.
EventLog log_at(const std::vector<Timestamp>& times) {
  std::vector<testing::Event> events;
  for (Timestamp t : times) events.push_back({0, 1, t});
  return make_log(events, 2);
}

std::set<NodeId> nodes_of(const EventLog& log, const Ids& ids) {
  std::set<NodeId> nodes;
  for (EventId e : ids) nodes.insert({log.src[e], log.dst[e]});
  return nodes;
}

Ids touching_others(const EventLog& log, const Ids& ids, const std::set<NodeId>& known) {
  Ids touching;
  for (EventId e : ids) {
    if (!known.contains(log.src[e]) || !known.contains(log.dst[e])) touching.push_back(e);
  }
  return touching;
}

bool hidden_at(const Split& split, NodeId node) {
  return std::find(split.hidden.begin(), split.hidden.end(), node) != split.hidden.end();
}

/// Everything that a split promises, given where its parts are cut.
void expect_consistent(const EventLog& log, const Split& split, const Ids& training_period,
                       const Ids& validation, const Ids& test) {
  EXPECT_EQ(split.validation, validation);
  EXPECT_EQ(split.test, test);
  EXPECT_EQ(split.first_validation, validation.front());
  EXPECT_EQ(split.first_test, test.front());

  Ids train;
  for (EventId e : training_period) {
    if (!hidden_at(split, log.src[e]) && !hidden_at(split, log.dst[e])) train.push_back(e);
  }
  EXPECT_EQ(split.train, train);

  const std::set<NodeId> trained = nodes_of(log, train);
  EXPECT_EQ(split.new_validation, touching_others(log, validation, trained));
  EXPECT_EQ(split.new_test, touching_others(log, test, trained));
}

/// At the quantiles of the times, with hidden nodes as published.
struct ByTime {
  Boundary boundary = Boundary::kLater;
  double validation_quantile = 0.70;
  double test_quantile = 0.85;
  double hidden_share = 0.10;
};
Split split_by_time(const EventLog& log, const ByTime& options = {}) {
  const Cuts cuts =
      cuts_by_quantile(log, options.boundary, options.validation_quantile, options.test_quantile);
  return split(log, cuts, hidden_from_test(log, cuts.first_test, options.hidden_share));
}

// numpy.quantile([...], q) worked out by hand: position q(n-1), linear in between.
TEST(QuantileTest, LiteralValues) {
  const Column<Timestamp> four(std::vector<Timestamp>{1, 3, 7, 20});
  EXPECT_DOUBLE_EQ(quantile(four, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(four, 0.25), 2.5);     // 0.75: 1 + 0.75·2
  EXPECT_DOUBLE_EQ(quantile(four, 1.0 / 3.0), 3);  // 1
  EXPECT_DOUBLE_EQ(quantile(four, 0.5), 5);        // 1.5: 3 + 0.5·4
  EXPECT_DOUBLE_EQ(quantile(four, 0.70), 8.3);     // 2.1: 7 + 0.1·13
  EXPECT_DOUBLE_EQ(quantile(four, 0.85), 14.15);   // 2.55: 7 + 0.55·13
  EXPECT_DOUBLE_EQ(quantile(four, 1), 20);
  const Column<Timestamp> pair(std::vector<Timestamp>{0, 10});
  EXPECT_DOUBLE_EQ(quantile(pair, 0.7), 7);
  EXPECT_DOUBLE_EQ(quantile(pair, 0.85), 8.5);
  const Column<Timestamp> tied(std::vector<Timestamp>{-2, 4, 4, 4, 9});
  EXPECT_EQ(quantile(tied, 0.70), 4);         // 2.8, between equal values
  EXPECT_DOUBLE_EQ(quantile(tied, 0.85), 6);  // 3.4: 4 + 0.4·5
  const Column<Timestamp> single(std::vector<Timestamp>{42.5});
  for (double q : {0.0, 0.3, 1.0}) EXPECT_EQ(quantile(single, q), 42.5);
}

TEST(QuantileTest, StaysBetweenItsNeighboursAndNeverDecreases) {
  Rng rng(4, Stream::kTest);
  for (int round = 0; round < 50; ++round) {
    std::vector<Timestamp> values(2 + rng.below(20));
    for (Timestamp& value : values) value = 1.4e9 + std::floor(rng.uniform() * 30) / 3;
    std::sort(values.begin(), values.end());
    const auto last = static_cast<double>(values.size() - 1);
    double previous = kNever;
    for (int step = 0; step <= 100; ++step) {
      const double q = step / 100.0;
      const double value = quantile(values, q);
      EXPECT_GE(value, previous);
      EXPECT_GE(value, values[static_cast<std::size_t>(std::floor(q * last))]);
      EXPECT_LE(value, values[static_cast<std::size_t>(std::ceil(q * last))]);
      previous = value;
    }
  }
}

// 21 events: the quantiles are exactly events 14 and 17, which are tied with their neighbours.
TEST(SplitByTimeTest, TiesAtTheCutsFallOnTheChosenSide) {
  const EventLog log =
      log_at({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 13, 16, 16, 16, 19, 20});
  const Split later = split_by_time(log, {.hidden_share = 0});
  expect_consistent(log, later, ids_between(0, 12), ids_between(13, 15), ids_between(16, 20));
  const Split earlier = split_by_time(log, {.boundary = Boundary::kEarlier, .hidden_share = 0});
  expect_consistent(log, earlier, ids_between(0, 15), ids_between(16, 18), ids_between(19, 20));
}

TEST(SplitByTimeTest, HandComputedExample) {
  // Ten events at 0 .. 9: q70 = 6.3, q85 = 7.65. Node 3 is new after training, node 4 in the test.
  const EventLog log = make_log({{0, 1, 0},
                                 {1, 2, 1},
                                 {2, 0, 2},
                                 {0, 1, 3},
                                 {1, 2, 4},
                                 {2, 0, 5},
                                 {0, 1, 6},
                                 {3, 1, 7},
                                 {1, 4, 8},
                                 {1, 0, 9}},
                                6);
  const Split split = split_by_time(log, {.hidden_share = 0});
  EXPECT_EQ(split.train, ids_between(0, 6));
  EXPECT_EQ(split.validation, Ids{7});
  EXPECT_EQ(split.test, (Ids{8, 9}));
  EXPECT_EQ(split.new_validation, Ids{7});
  EXPECT_EQ(split.new_test, Ids{8});
  EXPECT_TRUE(split.hidden.empty());
  EXPECT_EQ(split.first_validation, 7);
  EXPECT_EQ(split.first_test, 8);
}

TEST(SplitByTimeTest, MatchesLoopsOnRandomLogs) {
  for (int round = 0; round < 60; ++round) {
    const auto seed = static_cast<std::uint64_t>(round);
    const EventLog log = random_log(seed, {.nodes = 30,
                                           .events = 120,
                                           .distinct_times = 20 + 20 * (round % 6),
                                           .bipartite = round % 2 == 1});
    const ByTime options{.boundary = round % 4 < 2 ? Boundary::kLater : Boundary::kEarlier,
                         .hidden_share = 0.05 * (round % 5)};
    const double q70 = quantile(log.time, 0.70);
    const double q85 = quantile(log.time, 0.85);
    Ids train;
    Ids validation;
    Ids test;
    for (EventId e = 0; e < log.size(); ++e) {
      const Timestamp t = log.time[e];
      const bool later = options.boundary == Boundary::kLater;
      if (later ? t < q70 : t <= q70) {
        train.push_back(e);
      } else if (later ? t < q85 : t <= q85) {
        validation.push_back(e);
      } else {
        test.push_back(e);
      }
    }
    const Split split = split_by_time(log, options);
    expect_consistent(log, split, train, validation, test);

    // Every event is in one part, or belongs to a hidden node of the training period.
    const std::size_t removed = train.size() - split.train.size();
    EXPECT_EQ(split.train.size() + split.validation.size() + split.test.size() + removed, 120u);
    if (split.hidden.empty()) {
      EXPECT_EQ(removed, 0u);
    }

    const std::set<NodeId> tested = nodes_of(log, test);
    EXPECT_EQ(
        split.hidden.size(),
        std::min(static_cast<std::size_t>(std::floor(options.hidden_share * 30)), tested.size()));
    EXPECT_TRUE(std::is_sorted(split.hidden.begin(), split.hidden.end()));
    EXPECT_EQ(std::adjacent_find(split.hidden.begin(), split.hidden.end()), split.hidden.end());
    for (NodeId node : split.hidden) EXPECT_TRUE(tested.contains(node)) << node;
  }
}

TEST(SplitByTimeTest, OtherQuantiles) {
  const EventLog log = random_log(5, {.nodes = 30, .events = 100, .distinct_times = 100});
  const Split split =
      split_by_time(log, {.validation_quantile = 0.5, .test_quantile = 0.6, .hidden_share = 0});
  // Times are 0 .. 99: the quantiles are 49.5 and 59.4.
  expect_consistent(log, split, ids_between(0, 49), ids_between(50, 59), ids_between(60, 99));
}

// A few test nodes only: fewer are hidden than the share asks for.
TEST(SplitByTimeTest, HidesAtMostTheTestNodes) {
  std::vector<testing::Event> events;
  for (int i = 0; i < 85; ++i) {
    events.push_back({static_cast<NodeId>(i % 17), static_cast<NodeId>(17 + i % 19), 1.0 * i});
  }
  for (int i = 85; i < 100; ++i) events.push_back({3, 20, 1.0 * i});
  const Split split = split_by_time(make_log(events, 40), {.hidden_share = 0.5});
  EXPECT_EQ(split.hidden, (std::vector<NodeId>{3, 20}));
}

TEST(HiddenFromTest, DependsOnTheTestNodesAlone) {
  constexpr EventId kFirstTest = 510;
  const EventLog log = random_log(6, {.nodes = 60, .events = 600, .distinct_times = 600});
  const std::vector<NodeId> hidden = hidden_from_test(log, kFirstTest, 0.1);
  EXPECT_EQ(hidden.size(), 6u);
  EXPECT_EQ(hidden_from_test(log, kFirstTest, 0.1), hidden);
  const EventLog other = random_log(16, {.nodes = 60, .events = 600, .distinct_times = 600});
  std::vector<testing::Event> events = testing::events_of(other);
  for (EventId e = kFirstTest; e < log.size(); ++e) {
    events[static_cast<std::size_t>(e)] = {log.src[e], log.dst[e], log.time[e]};
  }
  EXPECT_EQ(hidden_from_test(make_log(events, 60), kFirstTest, 0.1), hidden);
  EXPECT_NE(hidden_from_test(other, kFirstTest, 0.1), hidden) << "who appears in the test decides";
}

// 2000 of 20000 test nodes: about 100 in each twentieth of them; tolerance in equally_frequent,
// which is wider than a draw without replacement needs.
TEST(HiddenFromTest, EveryTestNodeIsEquallyLikelyHidden) {
  constexpr NodeId kNodes = 20000;
  std::vector<testing::Event> events;
  for (NodeId node = 0; node < kNodes; node += 2) events.push_back({node, node + 1, 1});
  const std::vector<NodeId> hidden = hidden_from_test(make_log(events, kNodes), 0, 0.1);
  ASSERT_EQ(hidden.size(), 2000u);
  std::vector<std::int64_t> counts(20);
  for (NodeId node : hidden) ++counts[static_cast<std::size_t>(node / 1000)];
  EXPECT_TRUE(testing::equally_frequent(counts));
}

/// Numbers as a hash of names gives them.
std::vector<std::uint64_t> some_ids(std::size_t count, std::uint64_t seed = 0) {
  Rng rng(seed, Stream::kTest);
  std::vector<std::uint64_t> ids(count);
  for (std::uint64_t& id : ids) id = rng.below(std::numeric_limits<std::uint64_t>::max());
  return ids;
}

TEST(HiddenByIdTest, TheFateOfANodeDependsOnItsIdAlone) {
  const std::vector<std::uint64_t> ids = some_ids(2000);
  const std::vector<NodeId> all = hidden_by_id(ids, 0.1);
  ASSERT_FALSE(all.empty());
  const auto is_hidden = [&](std::size_t node) {
    return std::binary_search(all.begin(), all.end(), static_cast<NodeId>(node));
  };
  // Nodes that come later change nothing.
  for (const std::size_t count : {0, 1, 77, 1999}) {
    const std::vector<NodeId> fewer = hidden_by_id(std::span(ids).first(count), 0.1);
    EXPECT_TRUE(std::ranges::equal(
        fewer, std::span(all).first(static_cast<std::size_t>(
                   std::ranges::lower_bound(all, static_cast<NodeId>(count)) - all.begin()))));
  }
  // Nor does the number that a node has in this network, nor who else there is.
  std::vector<std::uint64_t> backwards(ids.rbegin(), ids.rend());
  const std::vector<NodeId> hidden = hidden_by_id(backwards, 0.1);
  EXPECT_EQ(hidden.size(), all.size());
  for (NodeId node : hidden)
    EXPECT_TRUE(is_hidden(ids.size() - 1 - static_cast<std::size_t>(node)));
  for (std::size_t node = 0; node < 50; ++node) {
    EXPECT_EQ(hidden_by_id(std::span(ids).subspan(node, 1), 0.1).size(), is_hidden(node) ? 1u : 0u);
  }
}

TEST(HiddenByIdTest, ALargerShareHidesTheSameAndMore) {
  const std::vector<std::uint64_t> ids = some_ids(3000, 1);
  const std::vector<NodeId> few = hidden_by_id(ids, 0.1);
  const std::vector<NodeId> more = hidden_by_id(ids, 0.3);
  EXPECT_TRUE(std::ranges::includes(more, few));
  EXPECT_TRUE(hidden_by_id(ids, 0).empty());
  EXPECT_EQ(hidden_by_id(ids, 1).size(), ids.size());
}

// Binomial: 20000 nodes, each hidden with probability p. Tolerance: 4.75 standard deviations.
TEST(HiddenByIdTest, EachNodeIsHiddenWithTheProbabilityOfTheShare) {
  constexpr double kNodes = 20000;
  std::vector<std::uint64_t> consecutive(20000);
  for (std::size_t i = 0; i < consecutive.size(); ++i) consecutive[i] = i;
  for (const auto& ids : {some_ids(20000, 2), consecutive}) {
    for (const double p : {0.01, 0.1, 0.5, 0.9}) {
      EXPECT_NEAR(static_cast<double>(hidden_by_id(ids, p).size()), kNodes * p,
                  4.75 * std::sqrt(kNodes * p * (1 - p)))
          << p;
    }
  }
}

TEST(HiddenByIdTest, SharesOutsideOfZeroToOneAreErrors) {
  const std::vector<std::uint64_t> ids = some_ids(10);
  for (const double bad : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(hidden_by_id(ids, bad), Error) << bad;
  }
}

TEST(CutsAtTest, TiesAtTheTimesFallOnTheChosenSide) {
  const EventLog log = log_at({0, 1, 2, 3, 3, 3, 5, 6, 6, 9});
  const Cuts later = cuts_at(log, 3, 6);
  EXPECT_EQ(later.first_validation, 3);
  EXPECT_EQ(later.first_test, 7);
  const Cuts earlier = cuts_at(log, 3, 6, Boundary::kEarlier);
  EXPECT_EQ(earlier.first_validation, 6);
  EXPECT_EQ(earlier.first_test, 9);
  const Cuts between = cuts_at(log, 2.5, 5.5);
  EXPECT_EQ(between.first_validation, 3);
  EXPECT_EQ(between.first_test, 7);
  expect_consistent(log, split(log, later), ids_between(0, 2), ids_between(3, 6),
                    ids_between(7, 9));
}

TEST(CutsAtTest, LaterEventsMoveNoCut) {
  const std::vector<Timestamp> times = {0, 1, 2, 3, 3, 3, 5, 6, 6, 9};
  for (std::size_t count = 8; count <= times.size(); ++count) {
    const Cuts cuts =
        cuts_at(log_at({times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count)}), 3, 6);
    EXPECT_EQ(cuts.first_validation, 3);
    EXPECT_EQ(cuts.first_test, 7);
  }
}

TEST(CutsAtTest, ThrowsUnlessTheTimesAscendAndLeaveThreeParts) {
  const EventLog log = log_at({0, 1, 2, 3, 4, 5});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [validation, test] :
       std::vector<std::pair<double, double>>{{3, 3}, {4, 2}, {nan, 3}, {2, nan}, {nan, nan}}) {
    EXPECT_THROW(cuts_at(log, validation, test), Error) << validation << ' ' << test;
  }
  for (const auto& [validation, test] : std::vector<std::pair<double, double>>{
           {0, 3}, {-5, 3}, {3.2, 3.8}, {2, 5.5}, {7, 9}, {-9, -8}}) {
    EXPECT_THROW(split(log, cuts_at(log, validation, test)), Error) << validation << ' ' << test;
  }
}

TEST(SplitByTimeTest, ThrowsWhenAPartWouldBeEmpty) {
  for (Boundary boundary : {Boundary::kLater, Boundary::kEarlier}) {
    const ByTime options{.boundary = boundary, .hidden_share = 0};
    EXPECT_THROW(split_by_time(log_at({}), options), Error);
    EXPECT_THROW(split_by_time(log_at({1}), options), Error);
    EXPECT_THROW(split_by_time(log_at({1, 2}), options), Error);
    EXPECT_THROW(split_by_time(log_at(std::vector<Timestamp>(100, 3.0)), options), Error);
  }
  const EventLog log = random_log(8, {.nodes = 10, .events = 500, .distinct_times = 500});
  EXPECT_THROW(split_by_time(log, {.hidden_share = 1}), Error) << "every node is hidden";
  EXPECT_THROW(split_by_time(log, {.validation_quantile = 0.7, .test_quantile = 0.7}), Error);
}

TEST(SplitByTimeTest, ThrowsForImpossibleOptions) {
  const EventLog log = random_log(8, {.nodes = 10, .events = 500, .distinct_times = 500});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ByTime& bad : std::vector<ByTime>{{.validation_quantile = 0.8, .test_quantile = 0.5},
                                               {.validation_quantile = -0.1},
                                               {.test_quantile = 1.1},
                                               {.test_quantile = nan},
                                               {.hidden_share = -0.1},
                                               {.hidden_share = 1.1},
                                               {.hidden_share = nan}}) {
    EXPECT_THROW(split_by_time(log, bad), Error)
        << bad.validation_quantile << ' ' << bad.test_quantile << ' ' << bad.hidden_share;
  }
}

Split split_by_roll(const EventLog& log, const Column<std::uint8_t>& roll) {
  return split(log, cuts_by_roll(log, roll));
}

TEST(SplitByRollTest, FollowsTheDataSet) {
  const EventLog log = random_log(9, {.nodes = 25, .events = 40});
  std::vector<std::uint8_t> roll(40, 0);
  std::fill(roll.begin() + 22, roll.begin() + 31, std::uint8_t{1});
  std::fill(roll.begin() + 31, roll.end(), std::uint8_t{2});
  const Split split = split_by_roll(log, roll);
  expect_consistent(log, split, ids_between(0, 21), ids_between(22, 30), ids_between(31, 39));
  EXPECT_TRUE(split.hidden.empty());
  EXPECT_EQ(split.train, ids_between(0, 21));
  EXPECT_FALSE(split.new_test.empty());
}

TEST(SplitByRollTest, ThrowsForEmptyOrInterleavedParts) {
  const EventLog log = log_at({1, 2, 3, 4});
  using Roll = std::vector<std::uint8_t>;
  EXPECT_NO_THROW(split_by_roll(log, Roll{0, 0, 1, 2}));
  for (const Roll& bad : {Roll{0, 0, 0, 0}, Roll{0, 0, 1, 1}, Roll{0, 0, 2, 2}, Roll{1, 1, 2, 2},
                          Roll{0, 1, 0, 2}, Roll{0, 2, 1, 2}, Roll{2, 1, 0, 0}}) {
    EXPECT_THROW(split_by_roll(log, bad), Error);
  }
  EXPECT_THROW(split_by_roll(log_at({}), Roll{}), Error);
}

}  // namespace
}  // namespace curnm
