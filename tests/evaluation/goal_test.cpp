#include "curnm/evaluation/goal.h"

#include <gtest/gtest.h>

namespace curnm {
namespace {

using Protocols = std::vector<Protocol>;

const std::map<std::string, double> kAp = {
    {"random", 0.9}, {"source_historical", 0.6}, {"trans", 0.75}, {"inductive", 0.5}};

TEST(GoalTest, AllQuestionsCountAlike) {
  EXPECT_EQ(protocols_of(Goal::kAll, SelectOn::kGoal),
            (Protocols{Protocol::kRandom, Protocol::kSourceHistorical, Protocol::kTrans,
                       Protocol::kInductive}));
  EXPECT_DOUBLE_EQ(ap_of(kAp, Goal::kAll, SelectOn::kGoal), 0.6875);
}

TEST(GoalTest, WhatIsNotMeasuredDoesNotCount) {
  EXPECT_DOUBLE_EQ(ap_of({{"random", 0.9}, {"trans", 0.7}}, Goal::kAll, SelectOn::kGoal), 0.8);
}

TEST(GoalTest, OneQuestionAsksForItsProtocolAlone) {
  EXPECT_EQ(protocols_of(Goal::kPartner, SelectOn::kGoal), Protocols{Protocol::kSourceHistorical});
  EXPECT_EQ(ap_of(kAp, Goal::kDestination, SelectOn::kGoal), 0.9);
  EXPECT_EQ(ap_of(kAp, Goal::kPartner, SelectOn::kGoal), 0.6);
  EXPECT_EQ(ap_of(kAp, Goal::kPair, SelectOn::kGoal), 0.75);
}

TEST(GoalTest, AProtocolMayDecideInstead) {
  EXPECT_EQ(protocols_of(Goal::kPair, SelectOn::kInductive),
            (Protocols{Protocol::kTrans, Protocol::kInductive}));
  EXPECT_EQ(protocols_of(Goal::kPair, SelectOn::kTrans), Protocols{Protocol::kTrans});
  EXPECT_EQ(ap_of(kAp, Goal::kPair, SelectOn::kInductive), 0.5);
  EXPECT_EQ(headline(Goal::kAll, SelectOn::kInductive), Protocol::kInductive);
}

TEST(GoalTest, TheHeadlineIsOfTheQuestion) {
  EXPECT_EQ(headline(Goal::kAll, SelectOn::kGoal), Protocol::kTrans);
  EXPECT_EQ(headline(Goal::kDestination, SelectOn::kGoal), Protocol::kRandom);
  EXPECT_EQ(headline(Goal::kPartner, SelectOn::kGoal), Protocol::kSourceHistorical);
}

TEST(GoalTest, MrrIsBesideTheApOfTheGoal) {
  EXPECT_EQ(protocols_of(Goal::kPair, SelectOn::kMrr), Protocols{Protocol::kTrans});
  EXPECT_EQ(ap_of(kAp, Goal::kPair, SelectOn::kMrr), 0.75);
}

// The names of SelectOn after the first are those of Protocol, in the same order, then `mrr`.
TEST(GoalTest, SelectOnNamesEveryProtocol) {
  const auto names = choice_names(SelectOn{});
  ASSERT_EQ(names.size(), all_protocols().size() + 2);
  for (std::size_t i = 0; i < all_protocols().size(); ++i) {
    EXPECT_EQ(names[i + 1], name_of(static_cast<Protocol>(i)));
  }
  EXPECT_EQ(names.back(), "mrr");
}

}  // namespace
}  // namespace curnm
