#include "curnm/experiments/verdicts.h"

#include <gtest/gtest.h>

#include "support/results.h"

namespace curnm {
namespace {

using testing::add_cell;
using testing::add_seeds;
using testing::failed_run;
using testing::scored_run;
using Names = std::vector<std::string>;

const Measure kTrans = {"test", "trans", "ap"};

Verdicts verdicts_in(const ResultSet& results, const Measure& measure = kTrans) {
  return verdicts_of(contests_of(grid_of(experiments_of(results).at(0).grid())), measure);
}

TEST(VerdictsTest, LiteralValues) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80, .82, .81}, .84);
  add_seeds(results, "uci", "tgn", "recent", {.60, .62, .61}, .84);
  add_seeds(results, "uci", "tgn", "curnm", {.85, .86, .90}, .84);
  const Verdicts all = verdicts_in(results);
  ASSERT_EQ(all.verdicts.size(), 1U);
  const Verdict& verdict = all.verdicts[0];
  EXPECT_EQ(verdict.subject, "uci");
  EXPECT_EQ(verdict.best, Names{"curnm"});
  EXPECT_NEAR(verdict.score.mean, .87, 1e-12);
  EXPECT_EQ(verdict.score.count, 3);
  EXPECT_EQ(verdict.next, "random");
  EXPECT_NEAR(verdict.next_score, .81, 1e-12);
  // Differences .05, .04, .09: t = 3.92792, p = .0591. The other p is smaller and takes the factor
  // two of Holm's correction.
  EXPECT_EQ(all.comparisons, 2);
  EXPECT_EQ(verdict.to_next.pairs, 3);
  EXPECT_NEAR(verdict.to_next.difference, .06, 1e-12);
  EXPECT_NEAR(*verdict.to_next.p, .0591, 1e-4);
  EXPECT_FALSE(verdict.is_significant());
  EXPECT_EQ(verdict.rule.name, "ages");
  EXPECT_EQ(verdict.to_rule, Standing::kAbove);
  EXPECT_FALSE(all.single_seed);
}

TEST(VerdictsTest, ADifferenceBeyondChanceIsSignificant) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.60, .62, .61});
  add_seeds(results, "uci", "tgn", "curnm", {.85, .86, .90});
  const Verdict verdict = verdicts_in(results).verdicts.at(0);
  EXPECT_NEAR(*verdict.to_next.p, .003434, 1e-5);  // t = 17.0213 with two degrees of freedom
  EXPECT_TRUE(verdict.is_significant());
  EXPECT_EQ(verdict.to_rule, Standing::kUnknown);
}

TEST(VerdictsTest, ScoresThatPrintAlikeShareTheFirstPlace) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.8004, .8004});
  add_seeds(results, "uci", "tgn", "ens", {.7994, .7994});
  add_seeds(results, "uci", "tgn", "curnm", {.7996, .7996});
  const Verdict verdict = verdicts_in(results).verdicts.at(0);
  EXPECT_EQ(verdict.best, (Names{"random", "curnm"}));
  EXPECT_EQ(verdict.next, "ens");
}

TEST(VerdictsTest, OneSeedSaysNothingAboutChance) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.50});
  add_seeds(results, "uci", "tgn", "curnm", {.99});
  const Verdicts all = verdicts_in(results);
  EXPECT_TRUE(all.single_seed);
  EXPECT_EQ(all.comparisons, 0);
  EXPECT_EQ(all.verdicts.at(0).to_next.p, std::nullopt);
  EXPECT_FALSE(all.verdicts.at(0).is_significant());
}

// The best by all of its seeds may be behind on those that both have.
TEST(VerdictsTest, BehindOnCommonSeedsIsNotAhead) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.801, .802, .803});
  add_seeds(results, "uci", "tgn", "curnm", {.701, .703, .702, 1, 1, 1});
  const Verdict verdict = verdicts_in(results).verdicts.at(0);
  EXPECT_EQ(verdict.best, Names{"curnm"});
  EXPECT_TRUE(verdict.to_next.significant());
  EXPECT_NEAR(verdict.to_next.difference, -.1, 1e-12);
  EXPECT_FALSE(verdict.is_significant());
}

TEST(VerdictsTest, RulesAreComparedAsPrinted) {
  ResultSet results;
  add_seeds(results, "low", "tgn", "curnm", {.7994}, .8);
  add_seeds(results, "level", "tgn", "curnm", {.7996}, .8);
  add_seeds(results, "high", "tgn", "curnm", {.8006}, .8);
  add_seeds(results, "none", "tgn", "curnm", {.8});
  const Verdicts all = verdicts_in(results);
  ASSERT_EQ(all.verdicts.size(), 4U);
  EXPECT_EQ(all.verdicts[0].to_rule, Standing::kBelow);
  EXPECT_EQ(all.verdicts[1].to_rule, Standing::kLevel);
  EXPECT_EQ(all.verdicts[2].to_rule, Standing::kAbove);
  EXPECT_EQ(all.verdicts[3].to_rule, Standing::kUnknown);
  EXPECT_EQ(all.verdicts[0].next, "");
}

TEST(VerdictsTest, HolmGoesOverAllNetworks) {
  ResultSet results;
  for (const char* network : {"a", "b", "c"}) {
    add_seeds(results, network, "tgn", "random", {.60, .62, .61});
    add_seeds(results, network, "tgn", "curnm", {.85, .86, .90});
  }
  const Verdicts all = verdicts_in(results);
  EXPECT_EQ(all.comparisons, 3);
  for (const Verdict& verdict : all.verdicts) {
    EXPECT_NEAR(*verdict.to_next.p, 3 * .003434, 3e-5) << verdict.subject;
  }
}

TEST(VerdictsTest, WithoutAScoreThereIsNoVerdict) {
  ResultSet results;
  add_cell(results, "main", "", failed_run("uci", "tgn", "random", 0, "out of memory"));
  add_seeds(results, "WIKI", "tgn", "random", {.8});
  const Verdicts all = verdicts_in(results);
  ASSERT_EQ(all.verdicts.size(), 1U);
  EXPECT_EQ(all.verdicts[0].subject, "WIKI");
  EXPECT_TRUE(verdicts_in(results, {"test", "random", "ap"}).verdicts.empty());
  EXPECT_TRUE(verdicts_of({}, kTrans).verdicts.empty());
}

TEST(ContestsTest, ContendersAreNamedByWhatTellsThemApart) {
  const auto names = [](const ResultSet& results) {
    Names all;
    for (const Contest& contest : contests_of(grid_of(experiments_of(results).at(0).grid()))) {
      for (const NamedRuns& contender : contest.contenders) all.push_back(contender.name);
    }
    return all;
  };
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.8});
  add_seeds(results, "uci", "tgn", "curnm", {.8});
  EXPECT_EQ(names(results), (Names{"random", "curnm"}));
  add_seeds(results, "uci", "light", "curnm", {.8});
  EXPECT_EQ(names(results),
            (Names{"tgn with random", "tgn with curnm", "light with random", "light with curnm"}));
  ResultSet models;
  add_seeds(models, "uci", "tgn", "curnm", {.8});
  add_seeds(models, "uci", "light", "curnm", {.8});
  EXPECT_EQ(names(models), (Names{"tgn", "light"}));
}

TEST(ContestsTest, VariantsCompeteWithinTheirTraining) {
  ResultSet results;
  for (const char* variant : {"complete", "without pi"}) {
    add_cell(results, "ablation", variant, scored_run("uci", "tgn", "curnm", 0, .8));
    add_cell(results, "ablation", variant, scored_run("uci", "jodie", "curnm", 0, .9));
  }
  const std::vector<Contest> contests = contests_of(variant_grid_of(experiments_of(results).at(0)));
  ASSERT_EQ(contests.size(), 2U);
  EXPECT_EQ(contests[0].subject, "uci (tgn with curnm)");
  EXPECT_EQ(contests[1].subject, "uci (jodie with curnm)");
  ASSERT_EQ(contests[0].contenders.size(), 2U);
  EXPECT_EQ(contests[0].contenders[1].name, "without pi");
}

}  // namespace
}  // namespace curnm
