#include "curnm/evaluation/negatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/graph/split.h"
#include "support/chi_square.h"
#include "support/naive.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

namespace curnm {

void PrintTo(const ProtocolEntry& entry, std::ostream* out) { *out << entry.name; }

namespace {

using testing::Event;
using testing::make_log;
using testing::mirrored;
using testing::naive_history;
using testing::naive_occurs;
using testing::naive_pairs;
using testing::NodePair;
using testing::random_log;
using testing::ScopedThreads;

/// Something to evaluate: positives within a network, and what their negatives are made of.
struct Setting {
  std::string name;
  EventLog network;
  EventLog universe;
  EventLog positives;
  Timestamp observed_until;

  Negatives draw(Protocol protocol, const NegativeOptions& options) const {
    return draw_each(protocol, {options}).front();
  }
  /// The same with several options, for one construction.
  std::vector<Negatives> draw_each(Protocol protocol,
                                   const std::vector<NegativeOptions>& options) const {
    const History full(network);
    const History partners(network, Partnership::kMutual);
    const History part(universe);
    const NegativeSampler sampler({.full = &full, .partners = &partners, .universe = &part},
                                  observed_until);
    std::vector<Negatives> negatives;
    for (const NegativeOptions& option : options) {
      negatives.push_back(sampler.draw(positives, protocol, option));
    }
    return negatives;
  }
};

constexpr std::array<Collisions, 3> kAllCollisions = {
    Collisions::kAllowed, Collisions::kNotOfSource, Collisions::kNowhere};

/// The four evaluations of a split, and one that starts at the very first event.
std::vector<Setting> settings_of(const EventLog& log, const std::string& name) {
  const Cuts cuts = cuts_by_quantile(log);
  const Split split = curnm::split(log, cuts, hidden_from_test(log, cuts.first_test, 0.2));
  const Timestamp trained = log.time[split.first_validation];
  const Timestamp validated = log.time[split.first_test];
  const EventLog new_validation = select(log, split.new_validation);
  const EventLog new_test = select(log, split.new_test);
  return {{name + " validation", log, log, select(log, split.validation), trained},
          {name + " test", log, log, select(log, split.test), validated},
          {name + " new validation", log, new_validation, new_validation, trained},
          {name + " new test", log, new_test, new_test, validated},
          {name + " from the start", log, log, log, kNever}};
}

std::vector<Setting> random_settings() {
  std::vector<Setting> settings;
  const auto add = [&](const EventLog& log, const std::string& name) {
    for (Setting& setting : settings_of(log, name)) settings.push_back(std::move(setting));
  };
  add(random_log(1, {.nodes = 14, .events = 250, .distinct_times = 60}), "dense");
  add(random_log(2, {.nodes = 30, .events = 200, .distinct_times = 200}), "sparse");
  add(random_log(3, {.nodes = 24, .events = 250, .distinct_times = 80, .bipartite = true}),
      "bipartite");
  // Few nodes and few times: whole grids of pairs are positives.
  add(random_log(4, {.nodes = 5, .events = 200, .distinct_times = 20}), "crowded");
  return settings;
}

NodePair pair_at(const Negatives& negatives, std::int64_t row) {
  const auto i = static_cast<std::size_t>(row);
  return {negatives.src[i], negatives.dst[i]};
}

/// The rules of negatives.h for one batch, by loops. Each check counts the rows in which what is to
/// be avoided cannot be.
class BatchRules {
 public:
  BatchRules(const Setting& setting, Collisions collisions, std::int64_t begin, std::int64_t end)
      : setting_(setting),
        collisions_(collisions),
        begin_(begin),
        end_(end),
        start_(setting.positives.time[begin]),
        stop_(setting.positives.time[end - 1]),
        sources_(setting.universe.src.begin(), setting.universe.src.end()),
        destinations_(setting.universe.dst.begin(), setting.universe.dst.end()) {}

  /// Checks the rows of the batch.
  void check(const Negatives& negatives, Protocol protocol) {
    switch (protocol) {
      case Protocol::kRandom:
        for (std::int64_t row = begin_; row < end_; ++row) {
          check_destination(negatives, row);
          count_genuine(negatives, row);
        }
        break;
      case Protocol::kHistorical:
        check_seen(negatives, begin_, kNever);
        break;
      case Protocol::kInductive:
        check_seen(negatives, begin_, setting_.observed_until);
        break;
      case Protocol::kTrans: {
        const std::int64_t middle = begin_ + (end_ - begin_) / 2;
        for (std::int64_t row = begin_; row < middle; ++row) {
          check_pair(negatives, row, collisions_ == Collisions::kNowhere);
          count_genuine(negatives, row);
        }
        check_seen(negatives, middle, kNever);
        break;
      }
      case Protocol::kSourceHistorical:
        for (std::int64_t row = begin_; row < end_; ++row) check_partner(negatives, row);
        break;
    }
  }

  /// Rows `begin` and later: different pairs that were first seen at `since` or later, before the
  /// batch, and do not occur in it; preceded by random ones where there are too few.
  void check_seen(const Negatives& negatives, std::int64_t begin, Timestamp since) {
    const std::set<NodePair> candidates = seen_pairs(since);
    const std::int64_t fill =
        std::max<std::int64_t>(end_ - begin - static_cast<std::int64_t>(candidates.size()), 0);
    for (std::int64_t row = begin; row < begin + fill; ++row) check_fill(negatives, row);
    std::set<NodePair> drawn;
    for (std::int64_t row = begin + fill; row < end_; ++row) {
      const NodePair pair = pair_at(negatives, row);
      EXPECT_TRUE(candidates.contains(pair)) << pair.first << " -> " << pair.second;
      EXPECT_TRUE(drawn.insert(pair).second) << pair.first << " -> " << pair.second << " twice";
      count_genuine(negatives, row);
    }
  }

  std::set<NodePair> seen_pairs(Timestamp since) const {
    std::set<NodePair> pairs = naive_pairs(setting_.universe, kNever, start_);
    for (const NodePair& known : naive_pairs(setting_.universe, kNever, since)) pairs.erase(known);
    std::erase_if(pairs, [&](const NodePair& pair) { return in_batch(pair); });
    return pairs;
  }

  std::int64_t unavoidable() const { return unavoidable_; }
  std::int64_t genuine() const { return genuine_; }

 private:
  /// The source of the positive with any destination, or one that it does not meet at that time.
  void check_destination(const Negatives& negatives, std::int64_t row) {
    const NodePair pair = pair_at(negatives, row);
    EXPECT_EQ(pair.first, setting_.positives.src[row]);
    EXPECT_TRUE(destinations_.contains(pair.second));
    if (collisions_ == Collisions::kAllowed) return;
    const bool possible = std::any_of(destinations_.begin(), destinations_.end(), [&](NodeId v) {
      return !collides({pair.first, v}, row);
    });
    EXPECT_EQ(collides(pair, row), !possible) << pair.first << " -> " << pair.second;
    unavoidable_ += possible ? 0 : 1;
  }

  /// Any source with any destination, or two that do not meet at the time of the positive.
  void check_pair(const Negatives& negatives, std::int64_t row, bool avoid_now) {
    const NodePair pair = pair_at(negatives, row);
    EXPECT_TRUE(sources_.contains(pair.first));
    EXPECT_TRUE(destinations_.contains(pair.second));
    if (!avoid_now) return;
    const bool possible = some_pair([&](const NodePair& other) { return !collides(other, row); });
    EXPECT_EQ(collides(pair, row), !possible) << pair.first << " -> " << pair.second;
    unavoidable_ += possible ? 0 : 1;
  }

  /// Any source with any destination that does not occur in the batch, where there is one.
  void check_fill(const Negatives& negatives, std::int64_t row) {
    const NodePair pair = pair_at(negatives, row);
    const bool possible = some_pair([&](const NodePair& other) { return !in_batch(other); });
    check_pair(negatives, row, /*avoid_now=*/!possible);
    if (possible) {
      EXPECT_FALSE(in_batch(pair)) << pair.first << " -> " << pair.second;
    }
  }

  /// The source of the positive with a member of H_{u,t}, or a random destination without one.
  void check_partner(const Negatives& negatives, std::int64_t row) {
    const NodePair pair = pair_at(negatives, row);
    const NodeId u = setting_.positives.src[row];
    const auto history = naive_history(mirrored(setting_.network), u, setting_.positives.time[row]);
    if (history.empty()) return check_destination(negatives, row);
    EXPECT_EQ(pair.first, u);
    EXPECT_TRUE(history.contains(pair.second)) << pair.second << " is not in H of " << u;
    count_genuine(negatives, row);
  }

  /// For rows of the protocol's own kind.
  void count_genuine(const Negatives& negatives, std::int64_t row) {
    genuine_ += collides(pair_at(negatives, row), row) ? 0 : 1;
  }

  bool collides(const NodePair& pair, std::int64_t row) const {
    const Timestamp t = setting_.positives.time[row];
    return naive_occurs(setting_.network, pair.first, pair.second, t, t);
  }
  bool in_batch(const NodePair& pair) const {
    return naive_occurs(setting_.network, pair.first, pair.second, start_, stop_);
  }
  template <class Condition>
  bool some_pair(const Condition& condition) const {
    return std::any_of(sources_.begin(), sources_.end(), [&](NodeId u) {
      return std::any_of(destinations_.begin(), destinations_.end(), [&](NodeId v) {
        return condition(NodePair{u, v});
      });
    });
  }

  const Setting& setting_;
  Collisions collisions_;
  std::int64_t begin_;
  std::int64_t end_;
  Timestamp start_;
  Timestamp stop_;
  std::set<NodeId> sources_;
  std::set<NodeId> destinations_;
  std::int64_t unavoidable_ = 0;
  std::int64_t genuine_ = 0;
};

void expect_legal(const Setting& setting, Protocol protocol, const NegativeOptions& options,
                  const Negatives& negatives) {
  const std::int64_t total = setting.positives.size();
  ASSERT_EQ(static_cast<std::int64_t>(negatives.src.size()), total);
  ASSERT_EQ(static_cast<std::int64_t>(negatives.dst.size()), total);
  std::int64_t unavoidable = 0;
  std::int64_t genuine = 0;
  for (std::int64_t begin = 0; begin < total; begin += options.batch_size) {
    BatchRules rules(setting, options.collisions, begin,
                     std::min(begin + options.batch_size, total));
    rules.check(negatives, protocol);
    unavoidable += rules.unavoidable();
    genuine += rules.genuine();
  }
  EXPECT_EQ(negatives.unavoidable, unavoidable);
  EXPECT_EQ(negatives.genuine, genuine);
}

std::vector<NodePair> pairs_of(const Negatives& negatives) {
  std::vector<NodePair> pairs;
  for (std::size_t row = 0; row < negatives.src.size(); ++row) {
    pairs.emplace_back(negatives.src[row], negatives.dst[row]);
  }
  return pairs;
}

class NegativesTest : public ::testing::TestWithParam<ProtocolEntry> {
 protected:
  Protocol protocol() const { return GetParam().protocol; }
};

std::string name_of(const ::testing::TestParamInfo<ProtocolEntry>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Protocols, NegativesTest, ::testing::ValuesIn(protocols()), name_of);

// 20 settings, batches of one, a few (with a short last one) and all, three rules for collisions.
TEST_P(NegativesTest, FollowTheRulesOfTheProtocol) {
  const ScopedThreads one(1);  // hundreds of small calls
  for (const Setting& setting : random_settings()) {
    for (std::int64_t batch_size : {1, 7, 40, 200}) {
      for (Collisions collisions : kAllCollisions) {
        SCOPED_TRACE(setting.name + ", batches of " + std::to_string(batch_size) + ", rule " +
                     std::to_string(static_cast<int>(collisions)));
        const NegativeOptions options{
            .seed = 5, .batch_size = batch_size, .collisions = collisions};
        expect_legal(setting, protocol(), options, setting.draw(protocol(), options));
      }
    }
  }
}

TEST(NegativeOptionsTest, BatchesOf200AndNoCollisionOfTheSource) {
  const NegativeOptions defaults;
  EXPECT_EQ(defaults.batch_size, 200);
  EXPECT_EQ(defaults.collisions, Collisions::kNotOfSource);
}

TEST_P(NegativesTest, ThreadCountChangesNothing) {
  const Setting setting =
      settings_of(random_log(6, {.nodes = 40, .events = 3000, .distinct_times = 900}), "")[1];
  for (std::int64_t batch_size : {3, 20}) {
    const ScopedThreads one(1);
    const NegativeOptions options{.seed = 7, .batch_size = batch_size};
    const Negatives alone = setting.draw(protocol(), options);
    for (int threads : {2, 5}) {
      const ScopedThreads more(threads);
      const Negatives together = setting.draw(protocol(), options);
      EXPECT_EQ(pairs_of(together), pairs_of(alone));
      EXPECT_EQ(together.unavoidable, alone.unavoidable);
    }
  }
}

TEST_P(NegativesTest, DependOnTheSeed) {
  const Setting setting =
      settings_of(random_log(7, {.nodes = 40, .events = 1000, .distinct_times = 300}), "")[1];
  const auto first = pairs_of(setting.draw(protocol(), {.seed = 1}));
  EXPECT_EQ(pairs_of(setting.draw(protocol(), {.seed = 1})), first);
  EXPECT_NE(pairs_of(setting.draw(protocol(), {.seed = 2})), first);
}

TEST_P(NegativesTest, LaterBatchesDoNotChangeEarlierOnes) {
  const Setting setting =
      settings_of(random_log(8, {.nodes = 40, .events = 1000, .distinct_times = 300}), "")[1];
  std::vector<EventId> first_forty;
  for (EventId e = 0; e < 40; ++e) first_forty.push_back(e);
  Setting shorter = setting;
  shorter.positives = select(setting.positives, first_forty);
  const auto all = pairs_of(setting.draw(protocol(), {.seed = 1, .batch_size = 20}));
  const auto some = pairs_of(shorter.draw(protocol(), {.seed = 1, .batch_size = 20}));
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
}

// 40 events at the last time, which are two equal batches of positives.
TEST_P(NegativesTest, EqualBatchesAreDrawnDifferently) {
  const EventLog log = random_log(8, {.nodes = 40, .events = 1000, .distinct_times = 25});
  std::vector<Event> positives;
  for (int copy = 0; copy < 2; ++copy) {
    for (EventId e = 960; e < 1000; ++e) positives.push_back({log.src[e], log.dst[e], log.time[e]});
  }
  const Setting setting{"", log, log, make_log(positives, 40), log.time[500]};
  const auto pairs = pairs_of(setting.draw(protocol(), {.seed = 1, .batch_size = 40}));
  EXPECT_FALSE(std::equal(pairs.begin(), pairs.begin() + 40, pairs.begin() + 40));
}

TEST_P(NegativesTest, NoPositivesNoNegatives) {
  Setting setting = settings_of(random_log(9, {.events = 200, .distinct_times = 50}), "")[0];
  setting.positives = select(setting.positives, {});
  const Negatives negatives = setting.draw(protocol(), {});
  EXPECT_TRUE(negatives.src.empty());
  EXPECT_TRUE(negatives.dst.empty());
  EXPECT_EQ(negatives.unavoidable, 0);
}

TEST_P(NegativesTest, OneDestinationIsAnError) {
  const EventLog one = make_log({{0, 2, 1}, {1, 2, 2}}, 3);
  const EventLog none = make_log({}, 3);
  const EventLog two = make_log({{0, 2, 1}, {1, 0, 2}}, 3);
  EXPECT_THROW((Setting{"", one, one, one, 0}.draw(protocol(), {})), Error);
  EXPECT_THROW((Setting{"", two, one, one, 0}.draw(protocol(), {})), Error) << "of the universe";
  EXPECT_THROW((Setting{"", none, none, none, 0}.draw(protocol(), {})), Error);
  EXPECT_NO_THROW((Setting{"", two, two, two, 0}.draw(protocol(), {})));
}

// At 5 every source meets every destination, so that nothing can be a negative.
TEST_P(NegativesTest, WhatCannotBeAvoidedIsCounted) {
  std::vector<Event> events;
  for (NodeId u = 0; u < 3; ++u) {
    for (NodeId v = 3; v < 6; ++v) events.push_back({u, v, 5});
  }
  const EventLog log = make_log(events, 6);
  const Setting setting{"complete", log, log, log, 0};
  for (std::int64_t batch_size : {1, 4, 9}) {
    for (Collisions collisions : kAllCollisions) {
      const NegativeOptions options{.batch_size = batch_size, .collisions = collisions};
      const Negatives negatives = setting.draw(protocol(), options);
      expect_legal(setting, protocol(), options, negatives);
      if (collisions == Collisions::kNowhere) {
        EXPECT_EQ(negatives.unavoidable, 9);
      }
    }
  }
}

// Over the batch every pair occurs, but at no single time: the fill avoids at least the latter.
TEST(NegativesFillTest, AvoidsCollisionsWhereItCannotAvoidTheBatch) {
  std::vector<Event> events;
  for (NodeId u = 0; u < 3; ++u) {
    for (NodeId v = 3; v < 6; ++v) events.push_back({u, v, static_cast<Timestamp>(events.size())});
  }
  const EventLog log = make_log(events, 6);
  const Setting setting{"diagonal", log, log, log, 0};
  for (Protocol protocol : {Protocol::kHistorical, Protocol::kInductive, Protocol::kTrans}) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const NegativeOptions options{.seed = seed};
      const Negatives negatives = setting.draw(protocol, options);
      EXPECT_EQ(negatives.unavoidable, 0);
      expect_legal(setting, protocol, options, negatives);
    }
  }
}

TEST(ProtocolsTest, AreListedOnceEach) {
  std::set<std::string_view> names;
  std::set<Protocol> listed;
  for (const ProtocolEntry& entry : protocols()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_TRUE(listed.insert(entry.protocol).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
  }
  EXPECT_EQ(listed, (std::set{Protocol::kRandom, Protocol::kHistorical, Protocol::kInductive,
                              Protocol::kTrans, Protocol::kSourceHistorical}));
}

/// A small bipartite network that can be worked out by hand: sources 0 .. 4, destinations 5 .. 10;
/// 14 pairs seen at 1 .. 14, and four positives at 20 and 21.
class NegativeFrequencyTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kSeeds = 6000;

  static Setting setting(Timestamp observed_until) {
    std::vector<Event> events = {{0, 5, 1},  {0, 6, 2},  {0, 7, 3},   {1, 5, 4}, {1, 8, 5},
                                 {2, 9, 6},  {2, 10, 7}, {3, 5, 8},   {3, 6, 9}, {4, 7, 10},
                                 {0, 8, 11}, {0, 9, 12}, {1, 10, 13}, {2, 6, 14}};
    const std::vector<Event> positives = {{0, 5, 20}, {0, 10, 20}, {1, 5, 20}, {4, 9, 21}};
    events.insert(events.end(), positives.begin(), positives.end());
    const EventLog log = make_log(events, 11);
    return {"by hand", log, log, make_log(positives, 11), observed_until};
  }

  /// How often each pair is the negative of rows begin .. end-1, over many seeds.
  static std::map<NodePair, std::int64_t> frequencies(
      const Setting& setting, Protocol protocol, std::size_t begin, std::size_t end,
      Collisions collisions = Collisions::kNotOfSource) {
    std::vector<NegativeOptions> options;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      options.push_back({.seed = seed, .collisions = collisions});
    }
    std::map<NodePair, std::int64_t> counts;
    for (const Negatives& negatives : setting.draw_each(protocol, options)) {
      for (std::size_t row = begin; row < end; ++row) {
        ++counts[{negatives.src[row], negatives.dst[row]}];
      }
    }
    return counts;
  }

  static std::set<NodePair> support(const std::map<NodePair, std::int64_t>& counts) {
    std::set<NodePair> pairs;
    for (const auto& [pair, count] : counts) pairs.insert(pair);
    return pairs;
  }

  static std::vector<std::int64_t> values(const std::map<NodePair, std::int64_t>& counts) {
    std::vector<std::int64_t> list;
    for (const auto& [pair, count] : counts) list.push_back(count);
    return list;
  }

  /// All 30 pairs of a source and a destination but these.
  static std::set<NodePair> grid_without(const std::set<NodePair>& absent) {
    std::set<NodePair> pairs;
    for (NodeId u = 0; u < 5; ++u) {
      for (NodeId v = 5; v < 11; ++v) {
        if (!absent.contains({u, v})) pairs.insert({u, v});
      }
    }
    return pairs;
  }

  using Pairs = std::set<NodePair>;
};

TEST_F(NegativeFrequencyTest, RandomDestinations) {
  const std::vector<Pairs> expected = {{{0, 6}, {0, 7}, {0, 8}, {0, 9}},
                                       {{0, 6}, {0, 7}, {0, 8}, {0, 9}},
                                       {{1, 6}, {1, 7}, {1, 8}, {1, 9}, {1, 10}},
                                       {{4, 5}, {4, 6}, {4, 7}, {4, 8}, {4, 10}}};
  for (std::size_t row = 0; row < 4; ++row) {
    const auto counts = frequencies(setting(20), Protocol::kRandom, row, row + 1);
    EXPECT_EQ(support(counts), expected[row]);
    EXPECT_TRUE(testing::equally_frequent(values(counts)));
  }
}

TEST_F(NegativeFrequencyTest, RandomDestinationsAsPublished) {
  for (std::size_t row = 0; row < 4; ++row) {
    const auto counts =
        frequencies(setting(20), Protocol::kRandom, row, row + 1, Collisions::kAllowed);
    EXPECT_EQ(counts.size(), 6u) << "also the positive itself";
    EXPECT_TRUE(testing::equally_frequent(values(counts)));
  }
}

TEST_F(NegativeFrequencyTest, SourceHistory) {
  const std::vector<Pairs> expected = {{{0, 6}, {0, 7}, {0, 8}, {0, 9}},
                                       {{0, 6}, {0, 7}, {0, 8}, {0, 9}},
                                       {{1, 8}, {1, 10}},
                                       {{4, 7}}};
  for (std::size_t row = 0; row < 4; ++row) {
    const auto counts = frequencies(setting(20), Protocol::kSourceHistorical, row, row + 1);
    EXPECT_EQ(support(counts), expected[row]);
    if (counts.size() > 1) {
      EXPECT_TRUE(testing::equally_frequent(values(counts)));
    }
  }
}

TEST_F(NegativeFrequencyTest, SourceWithoutHistoryGetsRandomDestinations) {
  Setting first = setting(0);
  first.positives = make_log({{3, 5, 8}}, 11);  // the first event of source 3
  const auto counts = frequencies(first, Protocol::kSourceHistorical, 0, 1);
  EXPECT_EQ(support(counts), (Pairs{{3, 6}, {3, 7}, {3, 8}, {3, 9}, {3, 10}}));
  EXPECT_TRUE(testing::equally_frequent(values(counts)));
}

TEST_F(NegativeFrequencyTest, SourceHistoryCountsBothRoles) {
  // 0 -> 1, 2 -> 0 and 0 -> 3 came before; now 0 -> 4, and 3 -> 0 excludes 3.
  const EventLog log = make_log({{0, 1, 1}, {2, 0, 2}, {0, 3, 3}, {0, 4, 9}, {3, 0, 9}}, 5);
  const Setting both{"", log, log, make_log({{0, 4, 9}}, 5), 0};
  const auto counts = frequencies(both, Protocol::kSourceHistorical, 0, 1);
  EXPECT_EQ(support(counts), (Pairs{{0, 1}, {0, 2}}));
  EXPECT_TRUE(testing::equally_frequent(values(counts)));
}

TEST_F(NegativeFrequencyTest, HistoricalPairs) {
  const auto counts = frequencies(setting(20), Protocol::kHistorical, 0, 4);
  EXPECT_EQ(support(counts), (Pairs{{0, 6},
                                    {0, 7},
                                    {1, 8},
                                    {2, 9},
                                    {2, 10},
                                    {3, 5},
                                    {3, 6},
                                    {4, 7},
                                    {0, 8},
                                    {0, 9},
                                    {1, 10},
                                    {2, 6}}));
  EXPECT_TRUE(testing::equally_included(values(counts), kSeeds, 4));
}

TEST_F(NegativeFrequencyTest, InductivePairs) {
  const auto counts = frequencies(setting(8), Protocol::kInductive, 0, 4);
  EXPECT_EQ(support(counts), (Pairs{{3, 5}, {3, 6}, {4, 7}, {0, 8}, {0, 9}, {1, 10}, {2, 6}}));
  EXPECT_TRUE(testing::equally_included(values(counts), kSeeds, 4));
}

TEST_F(NegativeFrequencyTest, TransHalves) {
  for (Collisions collisions : kAllCollisions) {
    const auto random = frequencies(setting(20), Protocol::kTrans, 0, 2, collisions);
    EXPECT_EQ(support(random), collisions == Collisions::kNowhere
                                   ? grid_without({{0, 5}, {0, 10}, {1, 5}})
                                   : grid_without({}));
    EXPECT_TRUE(testing::equally_frequent(values(random)));
  }
  const auto historical = frequencies(setting(20), Protocol::kTrans, 2, 4);
  EXPECT_EQ(historical.size(), 12u);
  EXPECT_TRUE(testing::equally_included(values(historical), kSeeds, 2));
}

TEST_F(NegativeFrequencyTest, FillIsUniformOverPairsOutsideTheBatch) {
  for (std::size_t row = 0; row < 4; ++row) {
    const auto counts = frequencies(setting(15), Protocol::kInductive, row, row + 1);
    EXPECT_EQ(support(counts), grid_without({{0, 5}, {0, 10}, {1, 5}, {4, 9}}));
    EXPECT_TRUE(testing::equally_frequent(values(counts)));
  }
}

TEST_F(NegativeFrequencyTest, FillComesFirst) {
  const Pairs seen = {{0, 9}, {1, 10}, {2, 6}};
  const auto fill = frequencies(setting(12), Protocol::kInductive, 0, 1);
  EXPECT_EQ(support(fill), grid_without({{0, 5}, {0, 10}, {1, 5}, {4, 9}}));
  const auto rest = frequencies(setting(12), Protocol::kInductive, 1, 4);
  EXPECT_EQ(support(rest), seen);
  for (const auto& [pair, count] : rest) EXPECT_EQ(count, kSeeds);
}

TEST_F(NegativeFrequencyTest, PairsFirstSeenAtTheObservedTimeAreInductive) {
  // {2, 6} is first seen at 14, {1, 10} at 13.
  Setting two = setting(14);
  two.positives = make_log({{4, 9, 21}}, 11);
  EXPECT_EQ(support(frequencies(two, Protocol::kInductive, 0, 1)),
            (Pairs{{0, 10}, {2, 6}}));  // and {0, 10} at 20
}

// Events after the batch change neither the history of a source nor the pairs seen before.
TEST(NegativesFutureTest, IsInvisible) {
  const EventLog log = random_log(10, {.nodes = 30, .events = 1200, .distinct_times = 300});
  const Setting setting = settings_of(log, "")[1];
  std::vector<EventId> batch;
  for (EventId e = 0; e < 30; ++e) batch.push_back(e);
  std::vector<EventId> until;
  for (EventId e = 0; e < log.size(); ++e) {
    if (log.time[e] <= setting.positives.time[29]) until.push_back(e);
  }
  Setting now = setting;
  now.positives = select(setting.positives, batch);
  Setting cut = now;
  cut.network = cut.universe = select(log, until);
  const BatchRules rules(now, Collisions::kNotOfSource, 0, 30);
  ASSERT_GE(rules.seen_pairs(kNever).size(), 30u);
  for (std::int64_t row = 0; row < 30; ++row) {
    ASSERT_FALSE(
        naive_history(mirrored(log), now.positives.src[row], now.positives.time[row]).empty());
  }
  for (Protocol protocol : {Protocol::kHistorical, Protocol::kSourceHistorical}) {
    EXPECT_EQ(pairs_of(now.draw(protocol, {.seed = 3})), pairs_of(cut.draw(protocol, {.seed = 3})));
  }
}

// For new-node events both protocols choose from the same pairs, those of the new-node events.
TEST(NegativesNewNodeTest, HistoricalAndInductiveCoincide) {
  const EventLog log = random_log(11, {.nodes = 30, .events = 600, .distinct_times = 200});
  for (std::size_t which : {2, 3}) {
    const Setting setting = settings_of(log, "new")[which];
    const std::int64_t total = setting.positives.size();
    ASSERT_GT(total, 20);
    for (Protocol protocol : {Protocol::kHistorical, Protocol::kInductive}) {
      const Negatives negatives = setting.draw(protocol, {.seed = 1, .batch_size = 10});
      for (std::int64_t begin = 0; begin < total; begin += 10) {
        BatchRules(setting, Collisions::kNotOfSource, begin, std::min(begin + 10, total))
            .check_seen(negatives, begin, kNever);
      }
    }
  }
}

}  // namespace
}  // namespace curnm
