#include "curnm/report/summary.h"

#include <gtest/gtest.h>

#include "support/results.h"

namespace curnm {
namespace {

using testing::add_cell;
using testing::add_seeds;
using testing::failed_run;
using testing::scored_run;

/// "about: text", a line for each.
std::string lines_of(const std::vector<Finding>& findings) {
  std::string lines;
  for (const Finding& finding : findings) lines += finding.about + ": " + finding.text + "\n";
  return lines;
}

std::string findings_in(const ResultSet& results) {
  return lines_of(findings_of(experiments_of(results).at(0)));
}

TEST(FindingsTest, ASignificantDifferenceAboveTheRule) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.60, .62, .61}, .84);
  add_seeds(results, "uci", "tgn", "curnm", {.85, .86, .90}, .84);
  EXPECT_EQ(
      findings_in(results),
      "AP, trans: curnm is best with 0.870, significantly ahead of random (0.610, p = 0.003); "
      "above the best rule (ages, 0.840).\n");
}

TEST(FindingsTest, ADifferenceThatMayBeChanceBelowTheRule) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80, .82, .81}, .88);
  add_seeds(results, "uci", "tgn", "curnm", {.85, .86, .90}, .88);
  EXPECT_EQ(findings_in(results),
            "AP, trans: curnm is best with 0.870, ahead of random (0.810), but not significantly "
            "(p = 0.059); below the best rule (ages, 0.880).\n");
}

TEST(FindingsTest, ATieLevelWithTheRule) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.8004, .8004}, .8);
  add_seeds(results, "uci", "tgn", "ens", {.7, .7}, .8);
  add_seeds(results, "uci", "tgn", "curnm", {.7996, .7996}, .8);
  EXPECT_EQ(findings_in(results),
            "AP, trans: random and curnm share the best score, 0.800, ahead of ens (0.700); level "
            "with the best rule (ages, 0.800).\n");
}

TEST(FindingsTest, OneSeedIsSaid) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80});
  add_seeds(results, "uci", "tgn", "curnm", {.85});
  EXPECT_EQ(findings_in(results),
            "AP, trans: curnm is best with 0.850, ahead of random (0.800).\n"
            "Seeds: one of each training: whether a difference is more than chance cannot be "
            "said.\n");
}

TEST(FindingsTest, NobodyElseAndNobodyAtAll) {
  ResultSet results;
  add_cell(results, "main", "", failed_run("uci", "tgn", "random", 0, "out of memory"));
  EXPECT_EQ(findings_in(results), "");
  EXPECT_TRUE(verdict_sheet(experiments_of(results).at(0)).rows.empty());
  add_seeds(results, "uci", "tgn", "curnm", {.85, .86});
  EXPECT_EQ(findings_in(results), "AP, trans: curnm has 0.855.\n");
}

TEST(FindingsTest, SeveralNetworksAreCounted) {
  ResultSet results;
  const std::vector<double> low = {.60, .62, .61};
  const std::vector<double> high = {.85, .86, .90};
  for (const auto& [network, rule] : {std::pair("a", .8), std::pair("b", .9)}) {
    add_seeds(results, network, "tgn", "random", low, rule);
    add_seeds(results, network, "tgn", "curnm", high, rule);
  }
  add_seeds(results, "c", "tgn", "random", low, .7);
  add_seeds(results, "c", "tgn", "curnm", {.1, .6, .2}, .7);
  EXPECT_EQ(findings_in(results),
            "AP, trans: curnm is best on 2 of 3 networks (significantly), random on 1 (not "
            "significantly); above the best rule on 1 of 3, not on b and c.\n");
}

TEST(FindingsTest, WhoIsAloneHasNotWon) {
  ResultSet results;
  add_seeds(results, "a", "tgn", "random", {.5}, .8);
  add_seeds(results, "b", "tgn", "random", {.9}, .8);
  EXPECT_TRUE(
      findings_in(results).starts_with("AP, trans: above the best rule on 1 of 2, not on a.\n"))
      << findings_in(results);
  add_seeds(results, "b", "tgn", "curnm", {.95}, .8);
  EXPECT_TRUE(findings_in(results).starts_with(
      "AP, trans: curnm is best on 1 of 1 networks; above the best rule on 1 of 2, not on a.\n"))
      << findings_in(results);
}

TEST(FindingsTest, OnlyTheFirstOfManyWinnersAreNamed) {
  ResultSet results;
  for (const char* network : {"a", "b", "c", "d", "e"}) {
    add_seeds(results, network, "tgn", std::string("miner ") + network, {.9}, .8);
    add_seeds(results, network, "tgn", "random", {.5}, .8);
  }
  EXPECT_TRUE(findings_in(results).starts_with(
      "AP, trans: miner a is best on 1 of 5 networks, miner b on 1, miner c on 1, others on 2; "
      "always above the best rule.\n"))
      << findings_in(results);
}

TEST(FindingsTest, TheSameAnswerIsGivenOnce) {
  ResultSet results;
  for (const char* network : {"a", "b"}) {
    for (const auto& [miner, score] : {std::pair("random", .5), std::pair("curnm", .75)}) {
      RunResult run = scored_run(network, "tgn", miner, 0, score);
      run.scores.push_back({"test", "random", "ap", score});
      run.scores.push_back({"test", "mrr", "mrr", 1 - score});
      add_cell(results, "main", "", std::move(run));
    }
  }
  EXPECT_TRUE(
      findings_in(results).starts_with("AP, trans; AP, random: curnm is best on 2 of 2 networks.\n"
                                       "MRR: random is best on 2 of 2 networks.\n"))
      << findings_in(results);
}

TEST(FindingsTest, ConstantDifferencesAreNotTested) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.5, .5});
  add_seeds(results, "uci", "tgn", "curnm", {.75, .75});
  EXPECT_EQ(findings_in(results),
            "AP, trans: curnm is best with 0.750, ahead of random (0.500, not tested).\n");
}

TEST(FindingsTest, RankingsCountAsScoresAndVariantsAsContenders) {
  ResultSet results;
  for (const auto& [variant, score] : {std::pair("complete", .5), std::pair("without pi", .75)}) {
    RunResult run = scored_run("uci", "tgn", "curnm", 0, score);
    run.scores.push_back({"test", "mrr", "mrr", 1 - score});
    run.scores.push_back({"test_new", "trans", "ap", score});
    add_cell(results, "ablation", variant, std::move(run));
  }
  EXPECT_TRUE(findings_in(results).starts_with(
      "AP, trans: without pi is best with 0.750, ahead of complete (0.500).\n"
      "MRR: complete is best with 0.500, ahead of without pi (0.250).\n"
      "Seeds: "))
      << findings_in(results);
  EXPECT_EQ(verdict_sheet(experiments_of(results).at(0)).rows.size(), 3U) << "new nodes, too";
}

TEST(FindingsTest, OfARun) {
  RunResult run = testing::full_run("uci", "tgn", "curnm", 0, .85, 5);
  for (BaselineScore& rule : run.baselines) {
    if (rule.set == "test" && rule.protocol == "trans") rule = {"test", "trans", "ages", .86};
  }
  EXPECT_EQ(lines_of(findings_of(run)),
            "All nodes: above the best rule in 4 of 5 scores; not in AP, trans (0.850; ages has "
            "0.860).\n"
            "New nodes: above the best rule in all 5 scores.\n"
            "Seeds: one: whether a difference is more than chance cannot be said.\n");
  run.scores.clear();
  run.state = RunState::kRunning;
  EXPECT_EQ(lines_of(findings_of(run)), "Scores: none yet, the run is running.\n");
}

TEST(FindingsTest, TheBestRuleIsExplainedWhereThereIsOne) {
  ResultSet results{.runs = {testing::scored_run("uci", "tgn", "curnm", 0, .5)}};
  EXPECT_EQ(rule_note(results), "");
  results.runs[0].baselines = {{"test", "trans", "ages", .5}};
  EXPECT_EQ(rule_note(results),
            "The best rule is the best of those that learn nothing, on the same events.");
}

TEST(VerdictSheetTest, LiteralRow) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.60, .62, .61}, .88);
  add_seeds(results, "uci", "tgn", "curnm", {.85, .86, .90}, .88);
  const Sheet sheet = verdict_sheet(experiments_of(results).at(0));
  ASSERT_EQ(sheet.rows.size(), 1U);
  std::vector<std::string> texts;
  for (const SheetCell& cell : sheet.rows[0]) texts.push_back(cell.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"AP, trans", "curnm", "random", "0.870 ± 0.026",
                                             "+0.260", "0.003", "0.880"}));
  EXPECT_TRUE(sheet.rows[0][3].below_rule);
  EXPECT_EQ(sheet.rows[0][4].mark, Mark::kAbove);
}

TEST(TitleTest, SaysWhatTheResultsAreOf) {
  ResultSet results;
  EXPECT_EQ(default_title(results), "Results");
  results.runs = {scored_run("uci", "tgn", "curnm", 7, .5)};
  EXPECT_EQ(default_title(results), "uci: tgn with curnm, seed 7");
  results.runs.clear();
  for (const char* model : {"tgn", "jodie", "dysat", "light"}) {
    for (const char* miner : {"random", "ens", "curnm"}) {
      for (int seed = 0; seed < 3; ++seed) {
        results.runs.push_back(scored_run("uci", model, miner, seed, .5));
      }
    }
  }
  EXPECT_EQ(default_title(results), "uci: 4 models × 3 miners, 3 seeds");
  for (RunResult& run : results.runs) run.miner = "curnm";
  EXPECT_EQ(default_title(results), "uci: 4 models with curnm, 3 seeds");
  for (RunResult& run : results.runs) run.model = "tgn";
  results.runs[0].network = "WIKI";
  EXPECT_EQ(default_title(results), "WIKI, uci: tgn with curnm, 3 seeds");
}

TEST(TitleTest, OfExperiments) {
  ResultSet results;
  for (const char* network : {"a", "b", "c", "d"}) {
    add_cell(results, "grid", "", scored_run(network, "tgn", "random", 0, .5));
    add_cell(results, "grid", "", scored_run(network, "tgn", "curnm", 0, .5));
  }
  EXPECT_EQ(default_title(results), "4 networks: tgn with 2 miners, 1 seed");
  results.titles["grid"] = "grid";  // what an experiment without a title is called
  EXPECT_EQ(default_title(results), "4 networks: tgn with 2 miners, 1 seed");
  results.titles["grid"] = "The paper's table";
  EXPECT_EQ(default_title(results), "The paper's table");
  add_cell(results, "ablation", "x", scored_run("a", "jodie", "curnm", 1, .5));
  add_cell(results, "ablation", "y", scored_run("a", "jodie", "curnm", 1, .5));
  EXPECT_EQ(default_title(results), "4 networks: 2 models × 2 miners, 2 seeds");
  EXPECT_EQ(scope_text(experiments_of(results).at(1)), "a: jodie with curnm, 2 variants, 1 seed");
}

}  // namespace
}  // namespace curnm
