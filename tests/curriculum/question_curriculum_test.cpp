#include "curnm/curriculum/question_curriculum.h"

#include <gtest/gtest.h>

#include <cmath>

namespace curnm {
namespace {

constexpr auto kDestination = Question::kDestination;
constexpr auto kPartner = Question::kPartner;
constexpr auto kPair = Question::kPair;

QuestionCurriculum made() {
  CurnmOptions options{.outputs = Outputs::kByQuestion, .shrink = 0.1};
  options.complete({.epochs = 10});
  return QuestionCurriculum(options);
}

TEST(QuestionCurriculumTest, StartsAlike) {
  const QuestionCurriculum curriculum = made();
  for (const Question question : kQuestions) {
    EXPECT_EQ(curriculum.pi(question), 1);
    EXPECT_DOUBLE_EQ(curriculum.share(question), 0.25);
  }
}

// 1 - AP is .1, .3, .1 of .5 in all: 1/8 and half of 1/5, 3/5, 1/5; nothing is known of new pairs.
TEST(QuestionCurriculumTest, WhatIsLeftToLearnDecidesShares) {
  QuestionCurriculum curriculum = made();
  curriculum.record({{kDestination, 0.9}, {kPartner, 0.7}, {kPair, 0.9}});
  EXPECT_NEAR(curriculum.share(kDestination), 1 / 8.0 + 0.1, 1e-12);
  EXPECT_NEAR(curriculum.share(kPartner), 1 / 8.0 + 0.3, 1e-12);
  EXPECT_NEAR(curriculum.share(kPair), 1 / 8.0 + 0.1, 1e-12);
  EXPECT_NEAR(curriculum.share(Question::kNewPair), 1 / 8.0, 1e-12);
}

TEST(QuestionCurriculumTest, EachQuestionHasItsOwnDifficulty) {
  QuestionCurriculum curriculum = made();
  curriculum.record({{kDestination, 0.5}, {kPartner, 0.5}, {kPair, 0.5}});
  curriculum.record({{kDestination, 0.6}, {kPartner, 0.4}, {kPair, 0.6}});
  curriculum.record({{kDestination, 0.7}, {kPartner, 0.4}, {kPair, 0.4}});
  EXPECT_NEAR(curriculum.pi(kDestination), 0.8, 1e-12);
  EXPECT_EQ(curriculum.pi(kPartner), 1) << "no progress";
  EXPECT_NEAR(curriculum.pi(kPair), 0.9, 1e-12);
}

TEST(QuestionCurriculumTest, AQuestionOutsideTheGoalKeepsTheLeastShare) {
  QuestionCurriculum curriculum = made();
  curriculum.record({{kPair, 0.8}});
  EXPECT_NEAR(curriculum.share(kPair), 1 / 8.0 + 0.5, 1e-12);
  EXPECT_NEAR(curriculum.share(kPartner), 1 / 8.0, 1e-12);
  EXPECT_EQ(curriculum.pi(kPartner), 1);
}

TEST(QuestionCurriculumTest, NothingLeftOrNotANumberChangesNoShare) {
  QuestionCurriculum curriculum = made();
  curriculum.record({{kDestination, 1}, {kPartner, 1}, {kPair, 1}});
  curriculum.record({{kDestination, std::nan("")}, {kPartner, 0.5}, {kPair, 0.5}});
  for (const Question question : kQuestions) {
    EXPECT_DOUBLE_EQ(curriculum.share(question), 0.25);
  }
}

TEST(QuestionCurriculumTest, GainsAreAgainstTheEpochBefore) {
  QuestionCurriculum curriculum = made();
  EXPECT_TRUE(curriculum.record({{kDestination, 0.5}, {kPartner, 0.6}}).empty());
  const auto gains = curriculum.record({{kDestination, 0.75}, {kPartner, 0.5}, {kPair, 0.9}});
  EXPECT_EQ(gains.size(), 2U) << "nothing is known of pairs before";
  EXPECT_NEAR(gains.at(kDestination), 0.25, 1e-12);
  EXPECT_NEAR(gains.at(kPartner), -0.1, 1e-12);
  EXPECT_NEAR(curriculum.record({{kPair, 0.8}}).at(kPair), -0.1, 1e-12);
}

TEST(QuestionCurriculumTest, StateContinues) {
  QuestionCurriculum curriculum = made();
  curriculum.record({{kDestination, 0.5}, {kPartner, 0.6}});
  curriculum.record({{kDestination, 0.6}, {kPartner, 0.7}, {kPair, 0.5}});
  QuestionCurriculum restored = made();
  restored.set_state(curriculum.state());
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const Question question : kQuestions) {
      EXPECT_EQ(restored.pi(question), curriculum.pi(question));
      EXPECT_EQ(restored.share(question), curriculum.share(question));
    }
    const std::map<Question, double> ap = {{kDestination, 0.7}, {kPartner, 0.5}, {kPair, 0.6}};
    EXPECT_EQ(restored.record(ap), curriculum.record(ap));
  }
}

}  // namespace
}  // namespace curnm
