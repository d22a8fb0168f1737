#include "curnm/evaluation/task.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "curnm/data/synthetic.h"
#include "curnm/evaluation/baselines.h"
#include "curnm/evaluation/evaluate.h"

namespace curnm {
namespace {

Dataset network() { return generate({.nodes = 80, .events = 2000, .communities = 4}, "network"); }

TEST(LinkTaskTest, TrainingNeverTouchesHiddenNodesOrTheFuture) {
  const LinkTask task(network());
  std::vector<char> hidden(80, 0);
  for (NodeId node : task.split().hidden) hidden[static_cast<std::size_t>(node)] = 1;
  for (NodeId node : task.split().hidden) {
    EXPECT_EQ(task.train_graph().all(node).size(), 0);
    EXPECT_GT(task.graph().all(node).size(), 0);
  }
  for (EventId e : task.train_graph().events()) EXPECT_LT(e, task.split().first_validation);
  for (NodeId node : task.train_destinations())
    EXPECT_FALSE(hidden[static_cast<std::size_t>(node)]);
}

TEST(LinkTaskTest, WhatHasBeenSeenMayBePredicted) {
  const LinkTask task(network());
  const EventLog& log = task.log();
  EXPECT_TRUE(task.choices(0, log.time.front()).empty());
  std::size_t hidden_before = 0;
  for (const EventId cut : {300, 1990}) {
    const Timestamp t = log.time[cut];
    std::set<NodeId> seen;
    for (EventId e = 0; e < log.size() && log.time[e] < t; ++e) seen.insert(log.dst[e]);
    EXPECT_EQ(task.choices(log.src[0], t), std::vector<NodeId>(seen.begin(), seen.end()));
    for (NodeId node : task.split().hidden) hidden_before += seen.count(node);
  }
  EXPECT_GT(hidden_before, 0U);
}

// A network that has grown, in the extent that it had: the same task, and a longer log.
TEST(LinkTaskTest, WhatComesLaterChangesNoTask) {
  const Dataset now = network();
  // Every node has a name; the last ones are met late.
  Dataset named = now;
  IdTable table;
  for (NodeId node = 0; node < now.events.num_nodes; ++node) table.intern(std::to_string(node));
  named.ids = table.finish();
  named.labels = std::vector<float>(2000, 1);
  const Extent then{1700, 80};
  const Dataset before = named.head(then);
  EXPECT_EQ(before.events.size(), 1700);
  EXPECT_EQ(before.labels.size(), 1700);
  EXPECT_EQ(before.edge_features.rows(), named.edge_features.width == 0 ? 0 : 1700);
  const LinkTask old_task(before);
  const LinkTask task(named, {}, then);
  EXPECT_EQ(task.data_digest(), old_task.data_digest());
  EXPECT_NE(task.data_digest(), LinkTask(named).data_digest());
  EXPECT_EQ(task.split().train, old_task.split().train);
  EXPECT_EQ(task.split().test, old_task.split().test);
  EXPECT_EQ(task.split().hidden, old_task.split().hidden);
  EXPECT_EQ(task.train_destinations(), old_task.train_destinations());
  EXPECT_EQ(task.log().size(), 2000);
  EXPECT_GT(task.graph().events().size(), old_task.graph().events().size());
}

// Of a bipartite network: a later destination, one that becomes a source, and one that meets
// itself.
TEST(LinkTaskTest, WhatComesLaterChangesNoNegativeAndNoEarlierChoice) {
  const Dataset old = network();
  ASSERT_TRUE(is_bipartite(old.events));
  std::vector<NodeId> src(old.events.src.begin(), old.events.src.end());
  std::vector<NodeId> dst(old.events.dst.begin(), old.events.dst.end());
  std::vector<Timestamp> time(old.events.time.begin(), old.events.time.end());
  const NodeId user = src[0];
  const NodeId item = dst[0];
  const Timestamp end = time.back();
  const auto later = [&](NodeId u, NodeId v, Timestamp t) {
    src.push_back(u);
    dst.push_back(v);
    time.push_back(t);
  };
  later(user, 80, end + 1);
  later(item, user, end + 2);
  later(item, item, end + 3);
  Dataset grown = old;
  grown.events = {src, dst, time, 81};
  grown.edge_features = {};
  Dataset plain = old;
  plain.edge_features = {};

  const LinkTask old_task(plain);
  const LinkTask task(grown, {}, plain.extent());
  const auto expect_same = [](const EvaluationSet& a, const EvaluationSet& b) {
    for (std::size_t p = 0; p < protocols().size(); ++p) {
      EXPECT_TRUE(std::ranges::equal(a.negatives[p].src, b.negatives[p].src));
      EXPECT_TRUE(std::ranges::equal(a.negatives[p].dst, b.negatives[p].dst));
    }
  };
  expect_same(task.validation(), old_task.validation());
  expect_same(task.test(), old_task.test());
  expect_same(*task.new_test(), *old_task.new_test());
  EXPECT_EQ(task.destinations(), old_task.destinations());

  const auto offered = [&](NodeId source, Timestamp t, NodeId node) {
    const std::vector<NodeId> nodes = task.choices(source, t);
    return std::ranges::find(nodes, node) != nodes.end();
  };
  EXPECT_EQ(task.choices(user, end + 1), old_task.choices(user, end + 1));
  EXPECT_TRUE(offered(user, end + 2, 80));
  EXPECT_FALSE(offered(item, end + 2, user)) << "still bipartite";
  EXPECT_TRUE(offered(item, end + 3, user));
  EXPECT_FALSE(offered(item, end + 3, item)) << "nobody has met himself yet";
  EXPECT_TRUE(offered(item, end + 4, item));
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
  EXPECT_THROW(LinkTask(network(), {.split = "roll"}), UsageError);
  EXPECT_THROW(LinkTask(network(), {.boundary = "middle"}), UsageError);
  const LinkTask one(network(), {.negative_seed = 1});
  const LinkTask two(network(), {.negative_seed = 2});
  EXPECT_NE(one.test().negatives[0].dst, two.test().negatives[0].dst);
}

/// Scores by what it has been shown: how often the pair has been observed.
class CountingScorer final : public Scorer {
 public:
  std::vector<float> score(const Pairs& pairs, Timestamp now) override {
    std::vector<float> scores;
    for (std::size_t i = 0; i < pairs.src.size(); ++i) {
      EXPECT_GE(pairs.time[i], now);
      scores.push_back(static_cast<float>(observed_));
    }
    return scores;
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
    for (std::size_t i = 0; i < entry.positives.size(); ++i) {
      EXPECT_EQ(entry.positives[i], static_cast<float>(i / 50 * 50));
      EXPECT_EQ(entry.negatives[i], static_cast<float>(i / 50 * 50));
    }
  }
}

TEST(MeanReciprocalRankTest, AConstantScorerIsInTheMiddle) {
  class Constant final : public Scorer {
    std::vector<float> score(const Pairs& pairs, Timestamp) override {
      return std::vector<float>(pairs.src.size(), 1);
    }
  };
  const LinkTask task(network());
  Constant scorer;
  EXPECT_NEAR(mean_reciprocal_rank(scorer, task.test(), task, 10), 1 / 6.0, 1e-12);
}

TEST(MeanReciprocalRankTest, HiddenNodesAreAmongTheNegatives) {
  class Listener final : public Scorer {
   public:
    std::vector<float> score(const Pairs& pairs, Timestamp) override {
      asked.insert(pairs.dst.begin(), pairs.dst.end());
      return std::vector<float>(pairs.src.size(), 1);
    }
    std::set<NodeId> asked;
  };
  const LinkTask task(network());
  Listener scorer;
  mean_reciprocal_rank(scorer, task.test(), task, 20);
  EXPECT_EQ(std::vector<NodeId>(scorer.asked.begin(), scorer.asked.end()), task.destinations())
      << "all of them, in so many draws";
  EXPECT_GT(task.destinations().size(), task.train_destinations().size());
}

TEST(ScoreInBlocksTest, AsksInPartsAndKeepsTheOrder) {
  class Destination final : public Scorer {
   public:
    std::vector<float> score(const Pairs& pairs, Timestamp now) override {
      EXPECT_EQ(now, 7);
      EXPECT_EQ(pairs.time.size(), pairs.dst.size());
      most = std::max(most, pairs.size());
      return {pairs.dst.begin(), pairs.dst.end()};
    }
    std::int64_t most = 0;
  };
  for (const std::size_t count : {0, 1, 4096, 4097, 10000}) {
    std::vector<NodeId> nodes(count);
    std::iota(nodes.begin(), nodes.end(), 0);
    const std::vector<Timestamp> times(count, 8);
    Destination scorer;
    EXPECT_EQ(score_in_blocks(scorer, {nodes, nodes, times}, 7),
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
    const std::vector<float> scores = entry.make(task)->score({u, v, asked}, t);
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
