#include "curnm/evaluation/fitted_rules.h"

#include <gtest/gtest.h>

#include "curnm/data/synthetic.h"
#include "curnm/evaluation/evaluate.h"

namespace curnm {
namespace {

double ap_of(Scorer& scorer, const LinkTask& task, Protocol protocol) {
  const Protocol asked[] = {protocol};
  const auto scores = score_protocols(scorer, task.test(), asked, 200);
  return link_metrics(scores[0].fitting.positives, scores[0].fitting.negatives, 200).ap;
}

/// Sources mostly repeat their last partner.
Dataset repeating() { return generate({.nodes = 200, .events = 4000, .repeat = 0.8}, "repeat"); }

// Who repeats partners is known by ages.
TEST(FittedRulesTest, FindWhatThereIsToKnow) {
  const LinkTask task(repeating());
  EXPECT_GT(ap_of(*best_statistic(task), task, Protocol::kRandom), 0.8);
  EXPECT_GT(ap_of(*age_regression(task), task, Protocol::kRandom), 0.8);
  EXPECT_GT(ap_of(*age_regression(task), task, Protocol::kSourceHistorical), 0.7);
}

TEST(FittedRulesTest, AreAFunctionOfTheTask) {
  const LinkTask task(repeating());
  const LinkTask again(repeating());
  const std::vector<NodeId> u(5, task.log().src[100]);
  const std::vector<NodeId> v(task.log().dst.begin(), task.log().dst.begin() + 5);
  const std::vector<Timestamp> t(5, task.log().time.back());
  for (const auto make : {best_statistic, age_regression}) {
    const Scores scores = make(task)->score({u, v, t}, t[0]);
    EXPECT_EQ(scores.outputs, 4);
    EXPECT_EQ(scores, make(again)->score({u, v, t}, t[0]));
  }
}

// One time only: nothing is former, and no age tells anything.
TEST(FittedRulesTest, NothingToKnowIsNoError) {
  Dataset network = generate({.nodes = 60, .events = 600}, "plain");
  std::vector<Timestamp> times(600, 1.0);
  for (std::size_t i = 400; i < 600; ++i) times[i] = i < 500 ? 2.0 : 3.0;
  network.events.time = times;
  const LinkTask task(network);
  for (const auto make : {best_statistic, age_regression}) {
    const double ap = ap_of(*make(task), task, Protocol::kTrans);
    EXPECT_TRUE(ap >= 0 && ap <= 1);
  }
}

}  // namespace
}  // namespace curnm
