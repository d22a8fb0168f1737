#include "curnm/evaluation/task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "curnm/base/error.h"
#include "curnm/data/synthetic.h"
#include "curnm/evaluation/baselines.h"
#include "curnm/evaluation/evaluate.h"

namespace curnm {
namespace {

Dataset network() { return generate({.nodes = 80, .events = 2000, .communities = 4}, "network"); }

TEST(LinkTaskTest, TrainingNeverTouchesHiddenNodesOrTheFuture) {
  const LinkTask task(network());
  std::vector<char> hidden(80, 0);
  EXPECT_FALSE(task.split().hidden.empty());
  for (NodeId node : task.split().hidden) hidden[static_cast<std::size_t>(node)] = 1;
  for (NodeId node : task.split().hidden) {
    EXPECT_EQ(task.train_graph().all(node).size(), 0);
    EXPECT_GT(task.graph().all(node).size(), 0);
  }
  for (EventId e : task.train_graph().events()) EXPECT_LT(e, task.split().first_validation);
  for (NodeId node : task.train_destinations())
    EXPECT_FALSE(hidden[static_cast<std::size_t>(node)]);
}

/// Everything that an evaluation is made of.
::testing::AssertionResult same(const EvaluationSet& a, const EvaluationSet& b) {
  if (a.positives.events != b.positives.events) return ::testing::AssertionFailure() << "events";
  if (a.destinations != b.destinations) return ::testing::AssertionFailure() << "destinations";
  if (a.pairs->num_pairs() != b.pairs->num_pairs()) {
    return ::testing::AssertionFailure() << "pairs";
  }
  if (!std::ranges::equal(a.positives.log.src.span(), b.positives.log.src.span()) ||
      !std::ranges::equal(a.positives.log.dst.span(), b.positives.log.dst.span()) ||
      !std::ranges::equal(a.positives.log.time.span(), b.positives.log.time.span())) {
    return ::testing::AssertionFailure() << "positives";
  }
  for (const ProtocolEntry& entry : protocols()) {
    const auto p = static_cast<std::size_t>(entry.protocol);
    if (a.negatives[p].src != b.negatives[p].src || a.negatives[p].dst != b.negatives[p].dst) {
      return ::testing::AssertionFailure() << "negatives of " << entry.name;
    }
  }
  return ::testing::AssertionSuccess();
}

/// Everything that training and validation are made of.
::testing::AssertionResult same_before_the_test(const LinkTask& a, const LinkTask& b) {
  if (a.split().train != b.split().train) return ::testing::AssertionFailure() << "train";
  if (!std::ranges::equal(a.train().log.src.span(), b.train().log.src.span()) ||
      !std::ranges::equal(a.train().log.dst.span(), b.train().log.dst.span())) {
    return ::testing::AssertionFailure() << "events of train";
  }
  if (a.train_destinations() != b.train_destinations()) {
    return ::testing::AssertionFailure() << "destinations";
  }
  if (a.split().new_validation != b.split().new_validation) {
    return ::testing::AssertionFailure() << "new validation";
  }
  return same(a.validation(), b.validation());
}

/// The network with the events from `first` on between others, in part nodes that it did not have.
Dataset with_other_nodes_from(const Dataset& dataset, EventId first) {
  std::vector<NodeId> src(dataset.events.src.begin(), dataset.events.src.end());
  std::vector<NodeId> dst(dataset.events.dst.begin(), dataset.events.dst.end());
  for (auto e = static_cast<std::size_t>(first); e < src.size(); ++e) {
    if (e % 2 == 0) dst[e] = static_cast<NodeId>(80 + e % 13);
    if (e % 3 == 0) src[e] = static_cast<NodeId>(93 + e % 5);
    if (e % 7 == 0) std::swap(src[e], dst[e]);  // no longer bipartite
  }
  Dataset changed = dataset;
  const std::vector<Timestamp> time(dataset.events.time.begin(), dataset.events.time.end());
  changed.events = {src, dst, time, 98};
  changed.communities = {};
  return changed;
}

TEST(LookaheadTest, WhoAppearsInTheTestChangesNeitherTrainingNorValidation) {
  const Dataset before = network();
  for (const SplitBy by : {SplitBy::kTime, SplitBy::kAt}) {
    TaskOptions options{.split = by};
    if (by == SplitBy::kAt) {
      options.validation_from = before.events.time[1200];
      options.test_from = before.events.time[1600];
    }
    const LinkTask task(before, options);
    const LinkTask other(with_other_nodes_from(before, task.split().first_test), options);
    ASSERT_EQ(other.split().first_test, task.split().first_test);
    EXPECT_FALSE(task.split().hidden.empty());
    EXPECT_TRUE(same_before_the_test(task, other));
    EXPECT_FALSE(same(task.test(), other.test())) << "the test is another one";
    options.lookahead = Lookahead::kPublished;
    EXPECT_FALSE(same_before_the_test(
        LinkTask(before, options),
        LinkTask(with_other_nodes_from(before, task.split().first_test), options)));
  }
}

// The cuts are at given times: then a network may go on growing.
TEST(LookaheadTest, WhatIsAppendedChangesNeitherTrainingNorValidation) {
  const Dataset now = with_other_nodes_from(network(), 1700);
  Dataset then = now;
  then.events = head(now.events, 1700);
  then.events.num_nodes = 80;
  TaskOptions options{.split = SplitBy::kAt,
                      .validation_from = now.events.time[1200],
                      .test_from = now.events.time[1500]};
  const LinkTask old_task(then, options);
  const LinkTask task(now, options);
  EXPECT_TRUE(same_before_the_test(old_task, task));
  EXPECT_EQ(task.split().test.size(), old_task.split().test.size() + 300);
  options.lookahead = Lookahead::kPublished;
  EXPECT_FALSE(same_before_the_test(LinkTask(then, options), LinkTask(now, options)));
}

TEST(LookaheadTest, ValidationNegativesAreNodesOfTheTimeBeforeTheTest) {
  const Dataset data = with_other_nodes_from(network(), 1700);  // the test begins there or before
  const auto late_nodes = [&](Lookahead lookahead) {
    const LinkTask task(data, {.lookahead = lookahead});
    EXPECT_LE(task.split().first_test, 1700);
    std::set<NodeId> known;
    for (EventId e = 0; e < task.split().first_test; ++e) {
      known.insert({task.log().src[e], task.log().dst[e]});
    }
    std::int64_t late = 0;
    for (const Negatives& negatives : task.validation().negatives) {
      for (NodeId node : negatives.dst) late += known.contains(node) ? 0 : 1;
      for (NodeId node : negatives.src) late += known.contains(node) ? 0 : 1;
    }
    return late;
  };
  EXPECT_EQ(late_nodes(Lookahead::kNone), 0);
  EXPECT_GT(late_nodes(Lookahead::kPublished), 0);
}

TEST(LookaheadTest, HiddenNodesGoByTheirNames) {
  const Dataset plain = network();
  // The same network, its nodes numbered the other way round.
  Dataset renumbered = plain;
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  for (EventId e = 0; e < plain.events.size(); ++e) {
    src.push_back(79 - plain.events.src[e]);
    dst.push_back(79 - plain.events.dst[e]);
  }
  renumbered.events.src = src;
  renumbered.events.dst = dst;
  IdTable table;
  for (NodeId node = 79; node >= 0; --node) table.intern(std::to_string(node));
  renumbered.ids = table.finish();
  const LinkTask task(plain);
  const LinkTask other(renumbered);
  std::vector<NodeId> hidden;
  for (NodeId node : other.split().hidden) hidden.insert(hidden.begin(), 79 - node);
  EXPECT_EQ(hidden, task.split().hidden);
  EXPECT_EQ(other.split().train, task.split().train);
  EXPECT_TRUE(LinkTask(plain, {.hidden_share = 0}).split().hidden.empty());
}

TEST(LookaheadTest, PublishedHidesNodesOfTheTest) {
  const LinkTask task(network(), {.lookahead = Lookahead::kPublished});
  EXPECT_EQ(task.split().hidden, hidden_from_test(task.log(), task.split().first_test, 0.1));
  EXPECT_EQ(task.split().hidden.size(), 8u);
}

TEST(LinkTaskTest, TheirPastsAreThoseOfTrainingAndOfAllEvents) {
  const LinkTask task(network());
  EXPECT_EQ(task.train_past().graph, &task.train_graph());
  EXPECT_EQ(task.train_past().partners, &task.train_partners());
  EXPECT_EQ(task.past().graph, &task.graph());
  EXPECT_EQ(task.past().pairs, &task.pairs());
  EXPECT_EQ(task.past().partners, &task.partners());
  const EventLog& log = task.log();
  const EventId last = log.size() - 1;
  EXPECT_TRUE(task.past().pairs->occurs_at(log.src[last], log.dst[last], log.time[last]));
  EXPECT_FALSE(task.train_past().pairs->occurs_at(log.src[last], log.dst[last], log.time[last]));
}

TEST(DestinationsOfTest, AreAllNodesUnlessTheNetworkIsBipartite) {
  const EventLog log{std::vector<NodeId>{5, 1}, std::vector<NodeId>{3, 3},
                     std::vector<Timestamp>{1, 2}, 9};
  EXPECT_EQ(destinations_of(log, /*bipartite=*/true), std::vector<NodeId>{3});
  EXPECT_EQ(destinations_of(log, /*bipartite=*/false), (std::vector<NodeId>{1, 3, 5}));
}

TEST(LinkTaskTest, NewNodeEventsTouchAnUntrainedNode) {
  const LinkTask task(network());
  ASSERT_NE(task.new_test(), nullptr);
  const EventLog& log = task.new_test()->positives.log;
  for (EventId e = 0; e < log.size(); ++e) {
    EXPECT_TRUE(task.train_graph().all(log.src[e]).size() == 0 ||
                task.train_graph().all(log.dst[e]).size() == 0);
  }
}

TEST(LinkTaskTest, WithoutNewNodesThereIsNoSuchSet) {
  // Every node is trained and none is hidden.
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  for (int i = 0; i < 200; ++i) {
    src.push_back(i % 3);
    dst.push_back(3 + i % 4);
    time.push_back(i);
  }
  const LinkTask task({.name = "dense", .events = {src, dst, time, 7}}, {.hidden_share = 0});
  EXPECT_EQ(task.new_test(), nullptr);
}

TEST(LinkTaskTest, OptionsDecide) {
  const auto wrong_option = [](const TaskOptions& options) -> std::string {
    try {
      const LinkTask task(network(), options);
    } catch (const OptionError& error) {
      return error.option();
    }
    return "";
  };
  EXPECT_EQ(wrong_option({.split = SplitBy::kRoll}), "split");
  EXPECT_EQ(wrong_option({.hidden_share = 0.95}), "hidden-share");
  EXPECT_EQ(wrong_option({.evaluation_batch = 0}), "evaluation-batch");
  EXPECT_EQ(wrong_option({.split = SplitBy::kAt}), "test-from") << "no times were given";
  EXPECT_EQ(wrong_option({.split = SplitBy::kAt, .validation_from = 5, .test_from = 4}),
            "test-from");
  EXPECT_EQ(wrong_option({.validation_from = 5, .test_from = 4}), "") << "of no use here";
  TaskOptions options;
  EXPECT_THROW(set_given({{"boundary", "middle"}}, options), UsageError);
  EXPECT_THROW(set_given({{"lookahead", "some"}}, options), UsageError);
  const LinkTask one(network(), {.negative_seed = 1});
  const LinkTask two(network(), {.negative_seed = 2});
  EXPECT_NE(one.test().negatives[0].dst, two.test().negatives[0].dst);
}

TEST(TaskOptionsTest, WhatTheSplitLeavesWithoutEffect) {
  const auto idle = [](TaskOptions options) {
    std::set<std::string_view> names;
    options.fields([&](const Field& field, const OptionValue&) {
      if (!field.idle.empty()) names.insert(field.name);
    });
    return names;
  };
  using Names = std::set<std::string_view>;
  EXPECT_EQ(idle({}), (Names{"validation-from", "test-from"}));
  EXPECT_EQ(idle({.split = SplitBy::kAt}), Names{});
  EXPECT_EQ(idle({.split = SplitBy::kRoll}),
            (Names{"validation-from", "test-from", "boundary", "hidden-share"}));
}

/// Scores by what it has been shown: how often the pair has been observed.
class CountingScorer final : public Scorer {
 public:
  Scores score(const Pairs& pairs, Timestamp now) override {
    std::vector<float> scores;
    for (std::size_t i = 0; i < pairs.src.size(); ++i) {
      EXPECT_GE(pairs.time[i], now);
      scores.push_back(static_cast<float>(observed_));
    }
    return {.values = std::move(scores)};
  }
  void observe(const EventBatch& batch) override { observed_ += batch.size(); }

 private:
  std::int64_t observed_ = 0;
};

TEST(ScoreProtocolsTest, ABatchIsObservedAfterAllItsScores) {
  const LinkTask task(network());
  CountingScorer scorer;
  const Protocol asked[] = {Protocol::kTrans, Protocol::kRandom};
  const auto scores = score_protocols(scorer, task.test(), asked, 50);
  ASSERT_EQ(scores.size(), 2U);
  for (const ProtocolScores& entry : scores) {
    for (std::size_t i = 0; i < entry.fitting.positives.size(); ++i) {
      EXPECT_EQ(entry.fitting.positives[i], static_cast<float>(i / 50 * 50));
      EXPECT_EQ(entry.fitting.negatives[i], static_cast<float>(i / 50 * 50));
    }
    EXPECT_TRUE(entry.single.positives.empty()) << "it has one output only";
  }
}

/// Each output as a code of the destination: 1 times it for the first, 10 times for the second, ...
class FourOutputs final : public Scorer {
 public:
  Scores score(const Pairs& pairs, Timestamp) override {
    Scores scores{.outputs = 4};
    for (const NodeId v : pairs.dst) {
      for (const float factor : {1.0F, 10.0F, 100.0F, 1000.0F}) {
        scores.values.push_back(factor * static_cast<float>(v));
      }
    }
    return scores;
  }
};

TEST(ScoreProtocolsTest, EachProtocolIsAnsweredByTheOutputOfItsQuestion) {
  const LinkTask task(network());
  FourOutputs scorer;
  const auto all = score_protocols(scorer, task.test(), all_protocols(), 50);
  for (const ProtocolScores& entry : all) {
    const float factor = entry.protocol == Protocol::kRandom             ? 1.0F
                         : entry.protocol == Protocol::kSourceHistorical ? 10.0F
                         : entry.protocol == Protocol::kInductive        ? 1000.0F
                                                                         : 100.0F;
    const auto& negatives = task.test().negatives[static_cast<std::size_t>(entry.protocol)];
    for (std::size_t i = 0; i < entry.fitting.positives.size(); ++i) {
      const auto v = static_cast<float>(task.test().positives.log.dst[static_cast<EventId>(i)]);
      const auto w = static_cast<float>(negatives.dst[i]);
      ASSERT_EQ(entry.fitting.positives[i], factor * v);
      ASSERT_EQ(entry.fitting.negatives[i], factor * w);
      ASSERT_EQ(entry.single.positives[i], 1111 * v);
      ASSERT_EQ(entry.single.negatives[i], 1111 * w);
    }
  }
}

/// The same for all.
class Constant final : public Scorer {
 public:
  Scores score(const Pairs& pairs, Timestamp) override {
    asked.insert(pairs.dst.begin(), pairs.dst.end());
    return {.values = std::vector<float>(pairs.src.size(), 1)};
  }
  std::set<NodeId> asked;
};

TEST(RankingTest, AConstantScorerIsInTheMiddle) {
  const LinkTask task(network());
  Constant scorer;
  const Ranking few = rank_destinations(scorer, task.test(), task, 10);
  EXPECT_NEAR(few.mrr, 1 / 6.0, 1e-12);
  EXPECT_EQ(few.hits10, 1) << "of eleven, the middle is the sixth";
  EXPECT_EQ(few.candidates, 10);
  EXPECT_EQ(rank_destinations(scorer, task.test(), task, 20).hits10, 0) << "the eleventh";
}

TEST(RankingTest, HiddenNodesAreAmongTheNegatives) {
  const LinkTask task(network());
  Constant scorer;
  rank_destinations(scorer, task.test(), task, 20);
  EXPECT_EQ(std::vector<NodeId>(scorer.asked.begin(), scorer.asked.end()), task.test().destinations)
      << "all of them, in so many draws";
  EXPECT_GT(task.test().destinations.size(), task.train_destinations().size());
}

// By loops: among all destinations that are not events of the source at the time.
TEST(RankingTest, AmongAllDestinationsMatchesLoops) {
  const LinkTask task(network());
  FourOutputs scorer;
  const Ranking found = rank_destinations(scorer, task.test(), task, 1'000'000);
  const EventLog& log = task.test().positives.log;
  double mrr = 0;
  double hits = 0;
  std::int64_t most = 0;
  for (EventId e = 0; e < log.size(); ++e) {
    std::int64_t above = 0;
    std::int64_t others = 0;
    for (const NodeId v : task.test().destinations) {
      if (task.pairs().occurs_at(log.src[e], v, log.time[e])) continue;
      ++others;
      above += v > log.dst[e] ? 1 : 0;  // the first output is the number of the destination
    }
    mrr += 1 / static_cast<double>(above + 1);
    hits += above < 10 ? 1 : 0;
    most = std::max(most, others);
  }
  EXPECT_NEAR(found.mrr, mrr / static_cast<double>(log.size()), 1e-12);
  EXPECT_NEAR(found.hits10, hits / static_cast<double>(log.size()), 1e-12);
  EXPECT_EQ(found.candidates, most);
}

TEST(ScoreInBlocksTest, AsksInPartsAndKeepsTheOrder) {
  class Destination final : public Scorer {
   public:
    Scores score(const Pairs& pairs, Timestamp now) override {
      EXPECT_EQ(now, 7);
      EXPECT_EQ(pairs.time.size(), pairs.dst.size());
      most = std::max(most, pairs.size());
      return {.values = {pairs.dst.begin(), pairs.dst.end()}};
    }
    std::int64_t most = 0;
  };
  for (const std::size_t count : {0, 1, 4096, 4097, 10000}) {
    std::vector<NodeId> nodes(count);
    std::iota(nodes.begin(), nodes.end(), 0);
    const std::vector<Timestamp> times(count, 8);
    Destination scorer;
    EXPECT_EQ(score_in_blocks(scorer, {nodes, nodes, times}, 7).values,
              std::vector<float>(nodes.begin(), nodes.end()));
    EXPECT_LE(scorer.most, 4096);
  }
}

// Also where times are in microseconds, and old ages are as long as months of them.
TEST(BaselinesTest, WhatWasNeverSeenIsTheOldest) {
  Dataset data = network();
  std::vector<Timestamp> times(data.events.time.begin(), data.events.time.end());
  for (Timestamp& t : times) t *= 1e9;
  data.events.time = times;
  const NodeId later = data.events.dst[1999];
  std::vector<NodeId> dst(data.events.dst.begin(), data.events.dst.end());
  for (EventId e = 0; e < 1999; ++e) {
    if (dst[static_cast<std::size_t>(e)] == later) dst[static_cast<std::size_t>(e)] = dst[0];
  }
  ASSERT_NE(later, dst[0]);
  data.events.dst = dst;
  const LinkTask task(std::move(data));
  const Timestamp t = times.back();
  const std::vector<NodeId> u(2, task.log().src[0]);
  const std::vector<NodeId> v = {dst[0], later};
  const std::vector<Timestamp> asked(2, t);
  for (const BaselineEntry& entry : baselines()) {
    if (entry.name != "recency-dst" && entry.name != "recency-src-dst") continue;
    const std::vector<float> scores = entry.make(task)->score({u, v, asked}, t).values;
    EXPECT_GT(scores[0], scores[1]) << entry.name;
  }
}

// Every rule reads what lies strictly before the question, so later events cannot matter.
TEST(BaselinesTest, NeverSeeTheFuture) {
  const LinkTask task(network());
  const EventLog& log = task.log();
  const EventId cut = 1500;
  std::vector<NodeId> src(log.src.begin(), log.src.end());
  std::vector<NodeId> dst(log.dst.begin(), log.dst.end());
  const Timestamp t = log.time[cut];
  for (EventId e = 0; e < log.size(); ++e) {
    if (log.time[e] >= t)
      std::swap(dst[static_cast<std::size_t>(e)],
                dst[static_cast<std::size_t>((e * 7) % cut + 500)]);
  }
  for (EventId e = 0; e < log.size(); ++e) {
    if (log.time[e] < t) dst[static_cast<std::size_t>(e)] = log.dst[e];
  }
  Dataset changed = network();
  changed.events.dst = dst;
  const LinkTask other(std::move(changed));
  std::vector<NodeId> u;
  std::vector<NodeId> v;
  for (NodeId a = 0; a < 80; ++a) {
    u.push_back(a);
    v.push_back((a * 13 + 5) % 80);
  }
  const std::vector<Timestamp> times(u.size(), t);
  for (const BaselineEntry& entry : baselines()) {
    EXPECT_EQ(entry.make(task)->score({u, v, times}, t), entry.make(other)->score({u, v, times}, t))
        << entry.name;
  }
}

}  // namespace
}  // namespace curnm
