#include "curnm/evaluation/results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "curnm/base/error.h"
#include "curnm/data/synthetic.h"
#include "curnm/evaluation/baselines.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

const LinkTask& some_task() {
  static const LinkTask task(generate({.nodes = 80, .events = 2000, .communities = 4}, "network"));
  return task;
}

std::set<std::string> keys(const ordered_json& json) {
  std::set<std::string> names;
  for (const auto& [name, value] : json.items()) names.insert(name);
  return names;
}

TEST(ProtocolMetricsTest, NamesTheFiguresOfEachProtocol) {
  const std::vector<ProtocolScores> scores = {{Protocol::kTrans, {{3, 4}, {1, 2}}},
                                              {Protocol::kRandom, {{1, 1}, {2, 2}}}};
  const ordered_json metrics = protocol_metrics(scores, /*batch_size=*/2);
  EXPECT_EQ(keys(metrics), (std::set<std::string>{"random", "trans"}));
  EXPECT_EQ(keys(metrics["trans"]),
            (std::set<std::string>{"ap", "auc", "ap_global", "auc_global"}));
  EXPECT_EQ(metrics["trans"]["ap"], 1);
  EXPECT_EQ(metrics["trans"]["auc_global"], 1);
  EXPECT_EQ(metrics["random"]["auc"], 0);
}

/// Finds everything equally likely; counts how many of it there were.
class CountedScorer final : public Scorer {
 public:
  explicit CountedScorer(int& made) { ++made; }
  Scores score(const Pairs& pairs, Timestamp) override {
    return {.values = std::vector<float>(pairs.src.size(), 1)};
  }
};

TEST(TestScorerTest, EachPassBeginsAnew) {
  int made = 0;
  const auto start = [&] { return std::make_unique<CountedScorer>(made); };
  const Protocol asked[] = {Protocol::kRandom};
  const ordered_json plain = test_scorer(some_task(), {.protocols = asked}, start);
  EXPECT_EQ(made, 2) << "the test and the new-node test";
  EXPECT_EQ(keys(plain), (std::set<std::string>{"test", "test_new"}));
  EXPECT_EQ(keys(plain["test"]), (std::set<std::string>{"events", "random"}));
  EXPECT_EQ(plain["test"]["events"], some_task().test().positives.size());
  EXPECT_EQ(plain["test"]["random"]["auc"], 0.5);
  const ordered_json ranked =
      test_scorer(some_task(), {.protocols = asked, .rank_among = 10}, start);
  EXPECT_EQ(made, 6);
  EXPECT_NEAR(ranked["test"]["mrr"]["mrr"].get<double>(), 1 / 6.0, 1e-12);
  EXPECT_EQ(ranked["test"]["random"], plain["test"]["random"]);
}

TEST(TestScorerTest, WithoutNewNodesThatPartIsNull) {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  for (int i = 0; i < 200; ++i) {
    src.push_back(i % 3);
    dst.push_back(3 + i % 4);
    time.push_back(i);
  }
  const LinkTask task({.name = "dense", .events = {src, dst, time, 7}}, {.hidden_share = 0});
  ordered_json result = test_baseline(task, "recency-dst");
  EXPECT_TRUE(result["test_new"].is_null());
  EXPECT_EQ(keys(result["test"]),
            (std::set<std::string>{"random", "trans", "source_historical", "events"}))
      << "in one batch no former pair is absent, and none is new";
  add_comparison(task, {.rank_among = 5}, result);
  EXPECT_TRUE(result["best_baseline_new"].is_null());
}

TEST(TestScorerTest, TheSinkSeesEveryScore) {
  std::vector<std::string> sets;
  std::int64_t rows = 0;
  const Protocol asked[] = {Protocol::kTrans, Protocol::kRandom};
  test_baseline(some_task(), "recency-src",
                {.protocols = asked,
                 .sink = [&](std::string_view set, const EvaluationSet& evaluated,
                             const std::vector<ProtocolScores>& scores) {
                   sets.emplace_back(set);
                   ASSERT_EQ(scores.size(), 2u);
                   for (const ProtocolScores& entry : scores) {
                     EXPECT_EQ(std::ssize(entry.fitting.positives), evaluated.positives.size());
                     rows += std::ssize(entry.fitting.negatives);
                   }
                 }});
  EXPECT_EQ(sets, (std::vector<std::string>{"test", "test_new"}));
  EXPECT_EQ(rows,
            2 * (some_task().test().positives.size() + some_task().new_test()->positives.size()));
}

TEST(TestBaselineTest, AnUnknownRuleIsAUsageError) {
  EXPECT_THROW(test_baseline(some_task(), "recency-dts"), UsageError);
}

TEST(AddComparisonTest, NamesTheBestRuleOfEachProtocol) {
  ordered_json result;
  add_comparison(some_task(), {}, result);
  EXPECT_EQ(result["lookahead"], "none");
  for (const auto& [set, key] :
       {std::pair("test", "best_baseline"), std::pair("test_new", "best_baseline_new")}) {
    EXPECT_EQ(result[key].size() + result["not_measured"][set].size(), protocols().size());
    for (const auto& [name, best_rule] : result[key].items()) {
      double best = -1;
      for (const BaselineEntry& rule : baselines()) {
        best = std::max(best, test_baseline(some_task(), rule.name)[set][name]["ap"].get<double>());
      }
      EXPECT_EQ(best_rule["ap"], best);
      const std::string winner = best_rule["name"];
      EXPECT_EQ(test_baseline(some_task(), winner)[set][name]["ap"], best);
    }
  }
}

}  // namespace
}  // namespace curnm
