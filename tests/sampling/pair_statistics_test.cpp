#include "curnm/sampling/pair_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "curnm/sampling/indices.h"
#include "support/naive.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::random_log;

constexpr AgeScale kAges{.unit = 0.5, .never = 6};

struct Event {
  NodeId src;
  NodeId dst;
  Timestamp time;
};

/// The statistics by a walk over the log, event by event.
class Naive {
 public:
  Naive(const EventLog& log, NodeId u, NodeId v, Timestamp t) : u_(u), v_(v), t_(t) {
    for (EventId e = 0; e < log.size() && log.time[e] < t; ++e) {
      events_.push_back({log.src[e], log.dst[e], log.time[e]});
    }
  }

  /// Who was met -> who was met next, by the same node.
  std::vector<Event> steps() const {
    std::vector<Event> steps;
    for (const Event& e : events_) {
      steps.push_back({met_before(e.src, e.time), e.dst, e.time});
      if (e.src != e.dst) steps.push_back({met_before(e.dst, e.time), e.src, e.time});
    }
    return steps;
  }

  /// `steps`: of the whole log.
  std::map<std::string_view, double> pair(const std::vector<Event>& steps) const {
    const auto is_uv = [&](const Event& e) { return e.src == u_ && e.dst == v_; };
    const auto is_vu = [&](const Event& e) { return e.src == v_ && e.dst == u_; };
    const auto is_pair = [&](const Event& e) { return is_uv(e) || is_vu(e); };
    const auto of = [](NodeId node) { return [=](const Event& e) { return touches(e, node); }; };
    const auto from = [](NodeId node) { return [=](const Event& e) { return e.src == node; }; };
    const auto to = [](NodeId node) { return [=](const Event& e) { return e.dst == node; }; };
    const Timestamp met = last(is_pair);
    const auto since = [&](NodeId node) {
      return count([=](const Event& e) { return touches(e, node) && e.time > met; });
    };
    const std::vector<NodeId> recent_u = recent(u_);
    const std::vector<NodeId> recent_v = recent(v_);
    std::int64_t common = 0;
    for (const NodeId a : recent_u) common += std::count(recent_v.begin(), recent_v.end(), a);
    const auto share = [&](NodeId node) {
      const auto events = static_cast<double>(count(of(node)));
      return events == 0 ? 0.0 : static_cast<double>(count(is_pair)) / events;
    };
    return {{"age_u", age(last(of(u_)))},
            {"age_v", age(last(of(v_)))},
            {"age_pair", age(met)},
            {"count_pair", std::log1p(count(is_pair))},
            {"count_u", std::log1p(count(of(u_)))},
            {"count_v", std::log1p(count(of(v_)))},
            {"partners_u", std::log1p(partners(u_))},
            {"partners_v", std::log1p(partners(v_))},
            {"share_u", share(u_)},
            {"share_v", share(v_)},
            {"age_uv", age(last(is_uv))},
            {"age_vu", age(last(is_vu))},
            {"count_uv", std::log1p(count(is_uv))},
            {"count_vu", std::log1p(count(is_vu))},
            {"age_u_as_src", age(last(from(u_)))},
            {"age_v_as_dst", age(last(to(v_)))},
            {"count_u_as_src", std::log1p(count(from(u_)))},
            {"count_v_as_dst", std::log1p(count(to(v_)))},
            {"since_u", std::log1p(since(u_))},
            {"since_v", std::log1p(since(v_))},
            {"recent_vu", std::log1p(std::count(recent_u.begin(), recent_u.end(), v_))},
            {"recent_uv", std::log1p(std::count(recent_v.begin(), recent_v.end(), u_))},
            {"recent_common", std::log1p(common)},
            {"pace_u", pace(u_)},
            {"pace_v", pace(v_)},
            {"next_v", std::log1p(next(steps, u_, 1, v_).count)},
            {"next_share_v", next(steps, u_, 1, v_).share},
            {"next_age_v", age(next(steps, u_, 1, v_).last)},
            {"next_share_v2", next(steps, u_, 2, v_).share},
            {"next_u", std::log1p(next(steps, v_, 1, u_).count)},
            {"next_share_u", next(steps, v_, 1, u_).share},
            {"next_age_u", age(next(steps, v_, 1, u_).last)},
            {"next_share_u2", next(steps, v_, 2, u_).share}};
  }

  /// Distinct partners of both among the newest 32 of each.
  std::int64_t common_partners() const {
    const std::vector<NodeId> recent_u = recent(u_);
    std::set<NodeId> common;
    for (const NodeId node : recent(v_)) {
      if (std::ranges::count(recent_u, node) > 0) common.insert(node);
    }
    return std::ssize(common);
  }

  std::map<std::string_view, double> node() const {
    const auto touched = [&](const Event& e) { return touches(e, u_); };
    const auto from = [&](const Event& e) { return e.src == u_; };
    const auto to = [&](const Event& e) { return e.dst == u_; };
    return {{"age", age(last(touched))},
            {"count", std::log1p(count(touched))},
            {"partners", std::log1p(partners(u_))},
            {"age_as_src", age(last(from))},
            {"count_as_src", std::log1p(count(from))},
            {"age_as_dst", age(last(to))},
            {"count_as_dst", std::log1p(count(to))},
            {"pace", pace(u_)},
            {"mean_gap", gap(u_)}};
  }

 private:
  struct Next {
    std::int64_t count = 0;
    double share = 0;
    Timestamp last = kNever;
  };
  /// How often anybody went on to `to` from whom the node met at its newest time, or the time
  /// before that.
  Next next(const std::vector<Event>& steps, NodeId node, int back, NodeId to) const {
    Timestamp t = t_;
    NodeId from = kNoNode;
    for (int i = 0; i < back; ++i) {
      from = met_before(node, t);
      t = last([&](const Event& e) { return touches(e, node) && e.time < t; });
      if (from == kNoNode) return {};
    }
    Next found;
    for (const Event& step : steps) {
      if (step.time >= t_ || step.src != from || step.dst != to) continue;
      ++found.count;
      found.last = step.time;
    }
    found.share = static_cast<double>(found.count) /
                  static_cast<double>(count([=](const Event& e) { return touches(e, from); }));
    return found;
  }
  /// Whom the node met at its newest time before t: the last in the log, unless there are many.
  NodeId met_before(NodeId node, Timestamp t) const {
    std::vector<NodeId> met;
    Timestamp at = kNever;
    for (const Event& e : events_) {
      if (e.time >= t || !touches(e, node)) continue;
      if (e.time > at) met.clear();
      at = e.time;
      met.push_back(e.src == node ? e.dst : e.src);
    }
    return met.empty() || met.size() > 4 ? kNoNode : met.back();
  }
  static bool touches(const Event& e, NodeId node) { return e.src == node || e.dst == node; }

  template <class Of>
  std::int64_t count(const Of& of) const {
    return std::count_if(events_.begin(), events_.end(), of);
  }
  template <class Of>
  Timestamp last(const Of& of) const {
    Timestamp found = kNever;
    for (const Event& e : events_) {
      if (of(e)) found = e.time;
    }
    return found;
  }
  double age(Timestamp last) const {
    return last == kNever ? kAges.never
                          : std::min(std::log(1 + (t_ - last) / kAges.unit), kAges.never);
  }
  std::vector<NodeId> all_partners(NodeId node) const {
    std::vector<NodeId> found;
    for (const Event& e : events_) {
      if (touches(e, node)) found.push_back(e.src == node ? e.dst : e.src);
    }
    return found;
  }
  std::int64_t partners(NodeId node) const {
    const std::vector<NodeId> all = all_partners(node);
    return std::ssize(std::set<NodeId>(all.begin(), all.end()));
  }
  std::vector<NodeId> recent(NodeId node) const {
    std::vector<NodeId> all = all_partners(node);
    if (all.size() > 32) all.erase(all.begin(), all.end() - 32);
    return all;
  }
  double gap(NodeId node) const {
    std::vector<Timestamp> times;
    for (const Event& e : events_) {
      if (touches(e, node)) times.push_back(e.time);
    }
    if (times.size() < 2) return kAges.never;
    return std::log(1 + (times.back() - times.front()) / static_cast<double>(times.size() - 1) /
                            kAges.unit);
  }
  double pace(NodeId node) const {
    if (all_partners(node).size() < 2) return 0;
    return age(last([&](const Event& e) { return touches(e, node); })) - gap(node);
  }

  NodeId u_;
  NodeId v_;
  Timestamp t_;
  std::vector<Event> events_;
};

/// All pairs of nodes at some times, those of a source one after the other.
struct AllPairs {
  explicit AllPairs(const EventLog& log, std::initializer_list<Timestamp> times) {
    for (const Timestamp t : times) {
      for (NodeId u = 0; u < log.num_nodes; ++u) {
        for (NodeId v = 0; v < log.num_nodes; ++v) {
          src.push_back(u);
          dst.push_back(v);
          time.push_back(t);
        }
      }
    }
  }
  Links links() const { return Links(Pairs{src, dst, time}); }

  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
};

// Ties, self-loops, both directions, isolated nodes; 150 events of 11 nodes: more than 32 each.
class PairStatisticsTest : public ::testing::TestWithParam<int> {};

TEST_P(PairStatisticsTest, AgreesWithAWalkOverTheLog) {
  const bool bipartite = GetParam() % 2 == 1;
  const EventLog log = random_log(static_cast<std::uint64_t>(GetParam()),
                                  {.nodes = 12, .events = 300, .bipartite = bipartite});
  const Indices indices(log);
  const AllPairs pairs(log, {-1, 0, 0.5, 3, 12, 24, 24.5, 1000});
  const Links links = pairs.links();
  const PairStatistics statistics(indices.past(), kAges);
  const std::vector<float> rows = statistics.of_pairs(links);
  ASSERT_EQ(std::ssize(rows), links.size() * kPairStatisticsWidth);
  const std::vector<Event> steps = Naive(log, 0, 0, 1e9).steps();
  std::size_t at = 0;
  for (std::size_t i = 0; i < pairs.src.size(); ++i) {
    const auto expected = Naive(log, pairs.src[i], pairs.dst[i], pairs.time[i]).pair(steps);
    for (const auto& [name, group] : kPairStatistics) {
      ASSERT_NEAR(rows[at++], expected.at(name), 2e-6)
          << name << " of " << pairs.src[i] << " and " << pairs.dst[i] << " at " << pairs.time[i];
    }
  }
  const std::vector<PairFacts> facts = pair_facts(indices.past(), links);
  ASSERT_EQ(std::ssize(facts), links.size());
  for (std::size_t i = 0; i < pairs.src.size(); ++i) {
    const Naive naive(log, pairs.src[i], pairs.dst[i], pairs.time[i]);
    const auto expected = naive.pair(steps);
    const PairFacts& found = facts[i];
    const std::map<std::string_view, std::int64_t> counts = {
        {"count_pair", found.met.count},  {"count_u", found.u.events},
        {"count_v", found.v.events},      {"partners_u", found.u.partners},
        {"partners_v", found.v.partners}, {"count_uv", found.uv.count},
        {"count_vu", found.vu.count},     {"since_u", found.since_u},
        {"since_v", found.since_v},       {"recent_vu", found.recent_vu},
        {"recent_uv", found.recent_uv},   {"recent_common", found.recent_common},
        {"next_v", found.next_v},         {"next_u", found.next_u}};
    for (const auto& [name, count] : counts) {
      EXPECT_EQ(count, std::llround(std::expm1(expected.at(name)))) << name;
    }
    const std::map<std::string_view, Timestamp> lasts = {{"age_u", found.u.last},
                                                         {"age_v", found.v.last},
                                                         {"age_pair", found.met.last},
                                                         {"age_uv", found.uv.last},
                                                         {"age_vu", found.vu.last}};
    for (const auto& [name, last] : lasts) {
      EXPECT_NEAR(kAges(last, pairs.time[i]), expected.at(name), 1e-9) << name;
    }
    EXPECT_EQ(found.common_partners, naive.common_partners());
  }
  const std::vector<float> of_nodes = statistics.of_nodes(links.roots());
  at = 0;
  for (std::size_t r = 0; r < links.roots().nodes.size(); ++r) {
    const NodeId node = links.roots().nodes[r];
    const auto expected = Naive(log, node, node, links.roots().times[r]).node();
    for (const std::string_view name : kNodeStatistics) {
      ASSERT_NEAR(of_nodes[at++], expected.at(name), 2e-6) << name << " of " << node;
    }
  }
}

TEST_P(PairStatisticsTest, DoesNotDependOnThreadsOrCompany) {
  const EventLog log = random_log(static_cast<std::uint64_t>(GetParam()), {.events = 300});
  const Indices indices(log);
  const PairStatistics statistics(indices.past(), kAges);
  const AllPairs pairs(log, {3, 9, 20, 30, 40, 50, 60, 70, 80});
  const Links links = pairs.links();
  ASSERT_GT(links.size(), 1000);
  const testing::ScopedThreads one(1);
  const std::vector<float> alone = statistics.of_pairs(links);
  {
    const testing::ScopedThreads four(4);
    EXPECT_EQ(statistics.of_pairs(links), alone);
  }
  for (const std::size_t i : {0UL, 17UL, 700UL, pairs.src.size() - 1}) {
    const std::vector<float> row = statistics.of_pairs(
        Links(Pairs{std::span(pairs.src).subspan(i, 1), std::span(pairs.dst).subspan(i, 1),
                    std::span(pairs.time).subspan(i, 1)}));
    const auto in_company = alone.begin() + static_cast<std::ptrdiff_t>(i * row.size());
    EXPECT_TRUE(std::equal(row.begin(), row.end(), in_company));
  }
}

TEST_P(PairStatisticsTest, WhatHappensAtTheTimeOrLaterIsInvisible) {
  const EventLog log = random_log(static_cast<std::uint64_t>(GetParam()), {.events = 300});
  const Timestamp t = 12;
  const auto before = std::lower_bound(log.time.begin(), log.time.end(), t) - log.time.begin();
  const EventLog known = head(log, before);
  const Indices all(log);
  const Indices some(known);
  const AllPairs pairs(log, {t});
  EXPECT_EQ(PairStatistics(all.past(), kAges).of_pairs(pairs.links()),
            PairStatistics(some.past(), kAges).of_pairs(pairs.links()));
}

INSTANTIATE_TEST_SUITE_P(Networks, PairStatisticsTest, ::testing::Range(0, 6));

TEST(StatisticGroupTest, EveryGroupHasStatisticsAndNamesAreDistinct) {
  std::set<std::string_view> names;
  std::set<StatisticGroup> groups;
  for (const auto& [name, group] : kPairStatistics) {
    EXPECT_TRUE(names.insert(name).second) << name;
    groups.insert(group);
  }
  EXPECT_EQ(groups.size(), kChoiceNames<StatisticGroup>.size());
}

TEST(AgeScaleTest, TheUnitIsTheLeastDifferenceAndNeverIsAboveThePeriod) {
  const std::vector<Timestamp> times = {10, 10, 14, 14.5, 20};
  const AgeScale ages = AgeScale::of(times);
  EXPECT_EQ(ages.unit, 0.5);
  EXPECT_NEAR(ages.never, std::log(21) + 1, 1e-12);
  EXPECT_NEAR(ages(14, 15), std::log(3), 1e-12);
  EXPECT_EQ(ages(kNever, 15), ages.never);
  EXPECT_EQ(ages(0, 1e9), ages.never) << "no age is above that of what never happened";
}

TEST(AgeScaleTest, UnitsOfTimeDoNotMatter) {
  std::vector<Timestamp> seconds = {0, 60, 200, 1000, 5000};
  std::vector<Timestamp> days;
  for (const Timestamp t : seconds) days.push_back(t / 86400);
  const AgeScale of_seconds = AgeScale::of(seconds);
  const AgeScale of_days = AgeScale::of(days);
  EXPECT_NEAR(of_seconds.never, of_days.never, 1e-9);
  EXPECT_NEAR(of_seconds(200, 700), of_days(200 / 86400.0, 700 / 86400.0), 1e-9);
}

TEST(AgeScaleTest, OneTimeOnly) {
  const std::vector<Timestamp> times(5, 7.0);
  const AgeScale ages = AgeScale::of(times);
  EXPECT_EQ(ages(kNever, 7), ages.never);
  EXPECT_TRUE(std::isfinite(ages(7, 100)));
}

TEST(StandardisationTest, MeanAndDeviationByColumnAndAtMostFive) {
  std::vector<float> rows = {1, 7, 3, 7, 5, 7};
  const Standardisation scale = Standardisation::of(rows, 2);
  EXPECT_FLOAT_EQ(scale.mean[0], 3);
  EXPECT_FLOAT_EQ(scale.deviation[0], std::sqrt(8.0F / 3));
  EXPECT_EQ(scale.deviation[1], 1) << "a constant column";
  rows = {3, 7, 3 + 100, 7 - 100};
  scale.apply(rows);
  EXPECT_EQ(rows, (std::vector<float>{0, 0, 5, -5}));
}

TEST(PairStatisticsEdgeTest, ManyEventsOfOnePair) {
  constexpr std::int64_t kMany = 1'000'000;
  std::vector<NodeId> src(kMany, 0);
  std::vector<NodeId> dst(kMany, 1);
  std::vector<Timestamp> time(kMany);
  std::iota(time.begin(), time.end(), 0);
  const EventLog log{std::move(src), std::move(dst), std::move(time), 2};
  const Indices indices(log);
  const AllPairs pairs(log, {kMany});
  const std::vector<float> rows = PairStatistics(indices.past(), kAges).of_pairs(pairs.links());
  const float* of_01 = rows.data() + kPairStatisticsWidth;
  EXPECT_FLOAT_EQ(of_01[3], static_cast<float>(std::log1p(kMany)));
  EXPECT_EQ(of_01[8], 1) << "all events of both";
  for (const float value : rows) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace curnm
