#include "curnm/evaluation/measured.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "curnm/base/error.h"
#include "curnm/evaluation/results.h"
#include "support/errors.h"
#include "support/naive.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;
using testing::Event;
using testing::fails;
using testing::make_log;

Dataset dataset_of(const std::vector<Event>& events, NodeId nodes) {
  Dataset dataset;
  dataset.name = "odd";
  dataset.events = make_log(events, nodes);
  return dataset;
}

/// Events 0 .. count-1 at the times of their numbers.
template <class Make>
LinkTask task_of(std::int64_t count, NodeId nodes, const Make& make) {
  std::vector<Event> events;
  for (std::int64_t e = 0; e < count; ++e) {
    const auto [src, dst] = make(static_cast<NodeId>(e));
    events.push_back({src, dst, static_cast<Timestamp>(e)});
  }
  return LinkTask(dataset_of(events, nodes), {.hidden_share = 0, .evaluation_batch = 10});
}

/// Every source acts once: it has no former partners.
LinkTask no_history() {
  return task_of(100, 107, [](NodeId e) { return std::pair(7 + e, e * e % 7); });
}

/// Every pair meets again and again, and no node has another partner.
LinkTask faithful() {
  return task_of(100, 20, [](NodeId e) { return std::pair(e * 7 % 10, 10 + e * 7 % 10); });
}

/// All three nodes meet all others, themselves included, at each of 40 times.
LinkTask complete_graphs() {
  std::vector<Event> events;
  for (int t = 0; t < 40; ++t) {
    for (NodeId u = 0; u < 3; ++u) {
      for (NodeId v = 0; v < 3; ++v) events.push_back({u, v, static_cast<Timestamp>(t)});
    }
  }
  return LinkTask(dataset_of(events, 3), {.hidden_share = 0});
}

std::string all_notes(const LinkTask& task) {
  std::string text;
  for (const auto& note : notes_on_negatives(task, all_protocols(), /*validation=*/true)) {
    text += note + "\n";
  }
  return text;
}

TEST(MeasuredTest, WithoutFormerPartnersThatQuestionIsLeftOut) {
  for (const LinkTask& task : {no_history(), faithful()}) {
    EXPECT_FALSE(task.validation().measures(Protocol::kSourceHistorical));
    const auto found = measured(task.validation(), protocols_of(Goal::kAll, SelectOn::kGoal));
    EXPECT_EQ(std::ranges::count(found, Protocol::kSourceHistorical), 0);
    EXPECT_EQ(std::ranges::count(found, Protocol::kRandom), 1);
    EXPECT_EQ(std::ranges::count(found, Protocol::kTrans), 1);
    const std::string notes = all_notes(task);
    EXPECT_NE(notes.find("source_historical in validation, the test"), std::string::npos) << notes;
    EXPECT_NE(notes.find("no source has a former partner"), std::string::npos) << notes;
  }
}

TEST(MeasuredTest, OrdinaryNetworksMeasureEverything) {
  Dataset dataset;
  dataset.events = testing::random_log(1, {.nodes = 40, .events = 600, .distinct_times = 600});
  const LinkTask task(dataset, {.hidden_share = 0, .evaluation_batch = 10});
  EXPECT_EQ(measured(task.validation(), all_protocols()).size(), all_protocols().size());
  EXPECT_EQ(all_notes(task), "");
  const ordered_json facts = facts_on_negatives(task);
  EXPECT_EQ(facts["not_measured"]["test"], ordered_json::array());
  EXPECT_EQ(facts["genuine_negatives"]["test"]["random"], task.test().positives.size());
  EXPECT_TRUE(facts["genuine_negatives"]["test_new"].is_null());
}

TEST(MeasuredTest, NegativesThatAreEventsMeasureNothing) {
  const LinkTask task = complete_graphs();
  EXPECT_TRUE(measured(task.validation(), all_protocols()).empty());
  EXPECT_TRUE(
      fails<OptionError>([&] { check_goal(task.validation(), Goal::kAll, SelectOn::kGoal); },
                         {"--goal all cannot be measured in validation",
                          "every source meets all destinations", "--split at"}));
  const ordered_json result = test_baseline(task, "edgebank");
  EXPECT_FALSE(result["test"].contains("random"));
  EXPECT_EQ(result["test"]["events"], task.test().positives.size());
}

TEST(CheckGoalTest, NamesWhatCanBeMeasuredInstead) {
  const LinkTask task = no_history();
  EXPECT_NO_THROW(check_goal(task.validation(), Goal::kAll, SelectOn::kGoal));
  EXPECT_NO_THROW(check_goal(task.validation(), Goal::kPair, SelectOn::kHistorical));
  EXPECT_TRUE(fails<OptionError>(
      [&] { check_goal(task.validation(), Goal::kPartner, SelectOn::kGoal); },
      {"--goal partner cannot be measured in validation", "no source has a former partner",
       "choose --goal destination, pair, new_pair or all"}));
  EXPECT_TRUE(fails<OptionError>(
      [&] { check_goal(task.validation(), Goal::kAll, SelectOn::kSourceHistorical); },
      {"--select-on source_historical cannot be measured in validation",
       "choose --select-on goal, random, historical"}));
  EXPECT_TRUE(fails<OptionError>([&] { check_protocol(task.test(), Protocol::kSourceHistorical); },
                                 {"--protocol source_historical cannot be measured in the test",
                                  "choose --protocol random, historical"}));
}

TEST(MeasuredTest, ResultsLeaveOutWhatIsNotMeasuredAndSayIt) {
  const LinkTask task = no_history();
  ordered_json result = test_baseline(task, "edgebank");
  add_comparison(task, {}, result);
  EXPECT_TRUE(result["test"].contains("random"));
  EXPECT_FALSE(result["test"].contains("source_historical"));
  EXPECT_FALSE(result["best_baseline"].contains("source_historical"));
  EXPECT_EQ(result["not_measured"]["test"], ordered_json({"source_historical"}));
  EXPECT_EQ(result["genuine_negatives"]["test"]["source_historical"], 0);
}

TEST(MeasuredTest, SaysWhereMostNegativesAreStandIns) {
  // Of the sources of validation, one in five has acted before.
  const LinkTask task =
      task_of(100, 120, [](NodeId e) { return std::pair(e % 5 == 0 ? 7 : 8 + e, e * e % 7); });
  const std::string notes = all_notes(task);
  EXPECT_NE(notes.find("source_historical in validation 3 of 15"), std::string::npos) << notes;
  EXPECT_EQ(notes.find("source_historical in validation,"), std::string::npos) << notes;
}

}  // namespace
}  // namespace curnm
