#include "curnm/experiments/tables.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/results.h"

namespace curnm {
namespace {

using testing::add_cell;
using testing::add_seeds;
using testing::failed_run;
using testing::scored_run;
using Names = std::vector<std::string>;
using Scores = std::vector<double>;

const Measure kTrans = {"test", "trans", "ap"};

ScoreTable table_of(const ResultSet& results, const Measure& measure = kTrans) {
  return score_table(grid_of(experiments_of(results).at(0).grid()), measure);
}

TEST(GridTest, RowsFollowTheExperimentAndMinersThePaper) {
  ResultSet results;
  for (const char* miner : {"curnm", "mine", "taser", "random"}) {
    add_seeds(results, "WIKI", "tgn", miner, {.5});
  }
  add_seeds(results, "uci", "tgn", "random", {.5});
  add_seeds(results, "WIKI", "jodie", "random", {.5});
  const Grid grid = grid_of(experiments_of(results).at(0).grid());
  EXPECT_EQ(grid.miners, (Names{"random", "taser", "mine", "curnm"}));
  ASSERT_EQ(grid.rows.size(), 3U);
  EXPECT_EQ(grid.rows[0].network + grid.rows[0].model, "WIKItgn");
  EXPECT_EQ(grid.rows[1].network + grid.rows[1].model, "WIKIjodie");
  EXPECT_EQ(grid.rows[2].network + grid.rows[2].model, "ucitgn");
  EXPECT_EQ(grid.rows[1].cells[0].size(), 1U);
  EXPECT_TRUE(grid.rows[1].cells[1].empty());
}

TEST(ScoreTableTest, LiteralValues) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80, .82, .81});
  add_seeds(results, "uci", "tgn", "recent", {.60, .62, .61});
  add_seeds(results, "uci", "tgn", "curnm", {.85, .86, .90});
  const ScoreTable table = table_of(results);
  ASSERT_EQ(table.rows.size(), 1U);
  const ScoreRow& row = table.rows[0];
  EXPECT_NEAR(row.cells[0].seeds.summary.mean, .81, 1e-12);
  EXPECT_NEAR(row.cells[0].seeds.summary.std, .01, 1e-12);
  EXPECT_EQ(row.cells[0].seeds.scores,
            (std::map<std::int64_t, double>{{0, .80}, {1, .82}, {2, .81}}));
  EXPECT_EQ(row.cells[0].paper, .824);
  EXPECT_EQ(row.cells[2].paper, .847);
  // (.87 - .81) / .81 and (.87 - .61) / .61, in percent and on average
  EXPECT_NEAR(row.improvement, (7.40740741 + 42.62295082) / 2, 1e-6);
  EXPECT_NEAR(row.paper_improvement, (2.79126214 + 30.10752688) / 2, 1e-6);
  EXPECT_EQ(row.cells[0].to_ours.pairs, 3);
  EXPECT_NEAR(row.cells[0].to_ours.difference, -.06, 1e-12);
  // Differences .05, .04, .09: t = .06 / (.0264575 / sqrt 3) = 3.92792, p = .0591; .25, .24, .29:
  // t = 17.0213, p = .00343, which Holm doubles.
  EXPECT_NEAR(*row.cells[0].to_ours.p, .0591, 1e-4);
  EXPECT_NEAR(*row.cells[1].to_ours.p, 2 * .003434, 2e-5);
  EXPECT_FALSE(row.cells[0].to_ours.significant());
  EXPECT_TRUE(row.cells[1].to_ours.significant());
  EXPECT_EQ(row.cells[2].to_ours.p, std::nullopt);
  EXPECT_EQ(table.comparisons, 2);
}

TEST(ScoreTableTest, HolmGoesOverAllRows) {
  ResultSet results;
  const Scores low = {.80, .82, .81, .80};
  const Scores high = {.85, .86, .90, .87};
  for (const char* network : {"a", "b", "c"}) {
    add_seeds(results, network, "tgn", "random", low);
    add_seeds(results, network, "tgn", "curnm", high);
  }
  const ScoreTable table = table_of(results);
  EXPECT_EQ(table.comparisons, 3);
  for (const ScoreRow& row : table.rows) {
    EXPECT_NEAR(*row.cells[0].to_ours.p, 3 * *paired_t_test(low, high), 1e-12);
  }
}

TEST(ScoreTableTest, OnlyCommonSeedsArePaired) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80, .82, .81, .70});
  add_seeds(results, "uci", "tgn", "curnm", {.85, .86});
  const ScoreRow row = table_of(results).rows[0];
  EXPECT_EQ(row.cells[0].to_ours.pairs, 2);
  EXPECT_NEAR(row.cells[0].to_ours.difference, (.80 + .82 - .85 - .86) / 2, 1e-12);
  EXPECT_NEAR(*row.cells[0].to_ours.p, *paired_t_test(Scores{.80, .82}, Scores{.85, .86}), 1e-12);
  EXPECT_EQ(row.cells[0].seeds.summary.count, 4);
}

TEST(ScoreTableTest, OneCommonSeedClaimsNothing) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.10, .11});
  add_cell(results, "main", "", scored_run("uci", "tgn", "curnm", 1, .99));
  const ScoreTable table = table_of(results);
  EXPECT_EQ(table.rows[0].cells[0].to_ours.pairs, 1);
  EXPECT_EQ(table.rows[0].cells[0].to_ours.p, std::nullopt);
  EXPECT_FALSE(table.rows[0].cells[0].to_ours.significant());
  EXPECT_TRUE(std::isnan(table.rows[0].cells[1].seeds.summary.std));
  EXPECT_EQ(table.comparisons, 0);
}

TEST(ScoreTableTest, WithoutOurMinerNothingIsCompared) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80, .82});
  add_seeds(results, "uci", "tgn", "ens", {.85, .86});
  const ScoreTable table = table_of(results);
  EXPECT_EQ(table.comparisons, 0);
  EXPECT_TRUE(std::isnan(table.rows[0].improvement));
  EXPECT_EQ(table.ranks.ranks, (Scores{2, 1}));
  EXPECT_TRUE(best_of_models(table).empty());
}

TEST(ScoreTableTest, FailedWaitingAndScorelessRunsAreNoScores) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80, .82});
  add_cell(results, "main", "", failed_run("uci", "tgn", "random", 2, "out of memory"));
  add_cell(results, "main", "", failed_run("uci", "tgn", "ens", 0, "not a number"));
  add_cell(results, "main", "", scored_run("uci", "tgn", "taser", 0, kNoValue));
  RunResult running = scored_run("uci", "tgn", "curnm", 0, .9);
  running.state = RunState::kRunning;  // what it has so far is no result
  add_cell(results, "main", "", running);
  const ScoreTable table = table_of(results);
  const ScoreRow& row = table.rows[0];
  EXPECT_EQ(row.cells[0].seeds.summary.count, 2);
  ASSERT_EQ(row.cells[0].seeds.unfinished.size(), 1U);
  EXPECT_EQ(row.cells[0].seeds.unfinished[0]->reason, "out of memory");
  EXPECT_TRUE(std::isnan(row.cells[1].seeds.summary.mean));
  EXPECT_EQ(row.cells[1].seeds.unfinished[0]->reason, "not a number");
  EXPECT_TRUE(std::isnan(row.cells[2].seeds.summary.mean));
  EXPECT_TRUE(row.cells[2].seeds.unfinished.empty());
  EXPECT_TRUE(std::isnan(row.cells[3].seeds.summary.mean));
  EXPECT_TRUE(std::isnan(row.improvement));
  EXPECT_EQ(table.ranks.rows, 0);
  EXPECT_TRUE(std::isnan(table.ranks.ranks[0]));
}

TEST(ScoreTableTest, RanksAreOfRowsThatHaveAllMiners) {
  ResultSet results;
  for (const auto& [network, random, ens, ours] :
       {std::tuple("uci", .5, .6, .7), std::tuple("WIKI", .5, .6, .55)}) {
    add_seeds(results, network, "tgn", "random", {random});
    add_seeds(results, network, "tgn", "ens", {ens});
    add_seeds(results, network, "tgn", "curnm", {ours});
  }
  add_seeds(results, "Flights", "tgn", "random", {.9});
  add_seeds(results, "Flights", "tgn", "curnm", {.1});
  const ScoreTable table = table_of(results);
  EXPECT_EQ(table.ranks.rows, 2);
  EXPECT_EQ(table.ranks.ranks, (Scores{3, 1.5, 1.5}));
  // The paper has no ENS on Flights; uci .824 .849 .847, WIKI .906 .908 .921.
  EXPECT_EQ(table.paper_ranks.rows, 2);
  EXPECT_EQ(table.paper_ranks.ranks, (Scores{3, 1.5, 1.5}));
}

TEST(ScoreTableTest, ThePapersFiguresAreOfItsQuestionAlone) {
  ResultSet results;
  RunResult run = scored_run("uci", "tgn", "random", 0, .8);
  run.scores = {{"test", "random", "ap", .9}, {"test_new", "trans", "ap", .7}};
  add_cell(results, "main", "", run);
  EXPECT_TRUE(std::isnan(table_of(results, {"test", "random", "ap"}).rows[0].cells[0].paper));
  EXPECT_EQ(table_of(results, {"test_new", "trans", "ap"}).rows[0].cells[0].paper, .677);
}

TEST(ScoreTableTest, RulesWithoutLearningAreOfTheNetwork) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80});
  RunResult run = scored_run("uci", "jodie", "random", 0, .7);
  run.baselines = {{"test_new", "trans", "other", .1}, {"test", "trans", "recency-dst", .93}};
  add_cell(results, "main", "", run);
  add_seeds(results, "WIKI", "tgn", "random", {.80});
  const ScoreTable table = table_of(results);
  EXPECT_EQ(table.rows[0].baseline.name, "recency-dst");  // known from the other model's run
  EXPECT_EQ(table.rows[1].baseline.value, .93);
  EXPECT_TRUE(std::isnan(table.rows[2].baseline.value));
}

TEST(MeasuresTest, RankingsFollowWithTheirCandidates) {
  RunResult run = scored_run("uci", "tgn", "curnm", 0, .9);
  run.scores.insert(run.scores.begin(), {{"test", "mrr", "candidates", 20},
                                         {"test", "mrr", "hits10", .75},
                                         {"test", "mrr", "mrr", .5}});
  run.baselines = {{"test", "trans", "recency-dst", .7}, {"test", "mrr", "ages", .4}};
  RunResult other = run;
  other.network = "mini";
  other.scores[0].value = 7;
  const std::vector<Measure> measures = measures_of({&run});
  EXPECT_EQ(measures,
            (std::vector<Measure>{
                {"test", "trans", "ap"}, {"test", "mrr", "mrr"}, {"test", "mrr", "hits10"}}));
  EXPECT_EQ(candidates_of({&run}, measures[0]), "");
  EXPECT_EQ(candidates_of({&run}, measures[1]), "20");
  EXPECT_EQ(candidates_of({&run, &other}, measures[2]), "7 to 20");
  const ScoreTable table = score_table(grid_of({&run, &other}), measures[1]);
  EXPECT_EQ(table.rows[0].cells[0].seeds.summary.mean, .5);
  EXPECT_EQ(table.rows[0].baseline.name, "ages");
  EXPECT_EQ(table.rows[0].baseline.value, .4);
  EXPECT_EQ(table.rows[0].candidates, "20");
  EXPECT_EQ(table.rows[1].candidates, "7");
  EXPECT_TRUE(std::isnan(find_baseline({&run}, measures[2]).value)) << "rules have MRR alone";
}

// Runs that chose their best epoch by different figures are compared by the one that all have.
TEST(ValidationFigureTest, IsMrrIfAllChooseByIt) {
  RunResult by_ap = scored_run("uci", "tgn", "curnm", 0, .9);
  RunResult by_mrr = by_ap;
  by_mrr.options["train"]["select-on"] = "mrr";
  by_mrr.epochs = 2;
  by_mrr.curve = {{.epoch = 0, .validation_ap = .9, .validation_mrr = .2},
                  {.epoch = 1, .validation_ap = .8, .validation_mrr = .3}};
  const RunResult waiting = by_ap;
  by_ap.epochs = 1;
  by_ap.curve = {{.epoch = 0, .validation_ap = .7}};
  EXPECT_EQ(common_figure({}), ValidationFigure::kAp);
  EXPECT_EQ(common_figure({&waiting, &by_mrr}), ValidationFigure::kMrr);
  EXPECT_EQ(common_figure({&by_mrr, &by_mrr}), ValidationFigure::kMrr);
  EXPECT_EQ(common_figure({&by_mrr, &by_ap}), ValidationFigure::kAp);
  ResultSet results;
  add_cell(results, "ablation", "by mrr", by_mrr);
  const VariantTable alone = variant_table(variant_grid_of(experiments_of(results).at(0)), kTrans);
  EXPECT_EQ(alone.validation_figure, ValidationFigure::kMrr);
  EXPECT_EQ(alone.groups[0].rows[0].validation.mean, .3);
  add_cell(results, "ablation", "by ap", by_ap);
  const VariantTable mixed = variant_table(variant_grid_of(experiments_of(results).at(0)), kTrans);
  EXPECT_EQ(mixed.groups[0].rows[0].validation.mean, .9);
}

TEST(MeasuresTest, ThePapersQuestionIsFirst) {
  RunResult run;
  run.scores = {{"test_new", "trans", "ap", .5}, {"test", "random", "ap", .5},
                {"test", "random", "auc", .5},   {"test", "new one", "ap", .5},
                {"test", "trans", "ap", .5},     {"test", "inductive", "ap", kNoValue}};
  EXPECT_EQ(measures_of({&run}), (std::vector<Measure>{{"test", "trans", "ap"},
                                                       {"test", "random", "ap"},
                                                       {"test", "new one", "ap"},
                                                       {"test_new", "trans", "ap"}}));
}

TEST(BestOfModelsTest, LiteralValues) {
  ResultSet results;
  add_seeds(results, "uci", "tgn", "random", {.80});
  add_seeds(results, "uci", "tgn", "curnm", {.84});
  add_seeds(results, "uci", "jodie", "ens", {.70, .80});
  add_seeds(results, "uci", "jodie", "curnm", {.60});
  add_seeds(results, "WIKI", "tgn", "random", {.80});
  const std::vector<BestOfRow> rows = best_of_models(table_of(results));
  ASSERT_EQ(rows.size(), 1U);  // WIKI has no curnm
  EXPECT_EQ(rows[0].ours.model, "tgn");
  EXPECT_EQ(rows[0].other.miner, "random");
  EXPECT_NEAR(rows[0].percent, 5, 1e-9);
  EXPECT_EQ(rows[0].paper_percent, 3.86);
}

TEST(RuntimeTablesTest, LiteralValues) {
  ResultSet results;
  const auto add = [&](const char* model, const char* miner, double seconds, std::int64_t events) {
    RunResult run = scored_run("uci", model, miner, 0, .5);
    run.seconds_per_epoch = seconds;
    run.training_events = events;
    add_cell(results, "main", "", run);
  };
  add("tgn", "random", 4, 2000);
  add("tgn", "curnm", 10, 0);
  add("jodie", "random", 1, 2000);
  RunResult failed = failed_run("uci", "tgn", "random", 1, "");
  failed.seconds_per_epoch = 1000;
  add_cell(results, "main", "", failed);
  const std::vector<RuntimeTable> tables =
      runtime_tables(grid_of(experiments_of(results).at(0).grid()));
  ASSERT_EQ(tables.size(), 2U);
  const RuntimeTable::Row& row = tables[0].rows.at(0);
  EXPECT_EQ(tables[0].model, "tgn");
  EXPECT_EQ(row.cells[0].seconds.mean, 4);
  EXPECT_EQ(row.cells[0].ms_per_event, 2);
  EXPECT_EQ(row.cells[0].paper_seconds, 7.7);
  EXPECT_EQ(row.cells[1].ratio, 2.5);
  EXPECT_TRUE(std::isnan(row.cells[1].ms_per_event));
  EXPECT_TRUE(std::isnan(tables[1].rows[0].cells[0].paper_seconds));  // it timed TGN alone
  EXPECT_TRUE(std::isnan(tables[1].rows[0].cells[1].seconds.mean));
}

TEST(VariantTableTest, LiteralValues) {
  ResultSet results;
  const auto add = [&](const char* variant, std::int64_t seed, double ap, int pool) {
    RunResult run = scored_run("uci", "tgn", "curnm", seed, ap);
    run.options = {{"miner", {{"pool", pool}}}};
    run.seconds_per_epoch = 3;
    run.epochs = 3;
    run.curve = {{.epoch = 0, .validation_ap = .2},
                 {.epoch = 1, .validation_ap = ap - .05},
                 {.epoch = 2, .validation_ap = .1}};
    add_cell(results, "ablation", variant, run);
  };
  add("complete", 0, .80, 8);
  add("complete", 1, .50, 8);
  add("smaller", 0, .76, 4);
  add("smaller", 1, .49, 4);
  add("smaller", 2, .10, 4);  // the first variant has no such seed
  add("odd", 0, .90, 5);
  const VariantTable table = variant_table(variant_grid_of(experiments_of(results).at(0)), kTrans);
  ASSERT_EQ(table.groups.size(), 1U);
  const std::vector<VariantRow>& rows = table.groups[0].rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "complete");
  EXPECT_EQ(rows[0].percent.mean, 0);
  EXPECT_NEAR(rows[0].validation.mean, (.75 + .45) / 2, 1e-12);
  EXPECT_NEAR(rows[1].validation.mean, (.71 + .44 + .2) / 3, 1e-12) << "the best of each";
  EXPECT_EQ(rows[0].to_first.p, std::nullopt);
  EXPECT_EQ(rows[0].paper_seconds, 13.2);
  EXPECT_EQ(rows[1].to_first.pairs, 2);
  EXPECT_NEAR(rows[1].percent.mean, (-5. - 2.) / 2, 1e-9);
  EXPECT_NEAR(rows[1].percent.std, 3 / std::sqrt(2), 1e-9);
  EXPECT_NEAR(*rows[1].to_first.p, *paired_t_test(Scores{.76, .49}, Scores{.80, .50}), 1e-12);
  EXPECT_EQ(rows[1].paper_seconds, 13.6);
  EXPECT_EQ(rows[2].to_first.p, std::nullopt);
  EXPECT_TRUE(std::isnan(rows[2].paper_seconds));
  EXPECT_EQ(table.comparisons, 1);

  add("other, of the same size", 0, .80, 8);
  const VariantTable others = variant_table(variant_grid_of(experiments_of(results).at(0)), kTrans);
  for (const VariantRow& row : others.groups[0].rows) EXPECT_TRUE(std::isnan(row.paper_seconds));
}

TEST(FirstAndBestTest, LiteralValues) {
  using Chosen = std::vector<std::size_t>;
  const std::vector<double> scores = {.1, .5, kNoValue, .9, .7, .7};
  EXPECT_EQ(first_and_best(scores, 6), (Chosen{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(first_and_best(scores, 5), (Chosen{0, 1, 3, 4, 5})) << "without a score is last";
  EXPECT_EQ(first_and_best(scores, 3), (Chosen{0, 3, 4})) << "of equals the first";
  EXPECT_EQ(first_and_best({}, 3), Chosen{});
}

TEST(ExperimentsTest, ExperimentsAreNotMixed) {
  ResultSet results;
  add_cell(results, "short", "", scored_run("uci", "tgn", "random", 0, .5));
  add_cell(results, "long", "", scored_run("uci", "tgn", "random", 0, .9));
  results.cells.push_back({"long", "as before", 0});                  // shared with "short"
  results.runs.push_back(scored_run("uci", "tgn", "random", 0, .7));  // of no experiment
  const std::vector<ExperimentRuns> experiments = experiments_of(results);
  ASSERT_EQ(experiments.size(), 3U);
  EXPECT_EQ(experiments[0].name, "short");
  EXPECT_EQ(experiments[0].grid(), Runs{&results.runs[0]});
  EXPECT_FALSE(experiments[0].has_variants());
  EXPECT_EQ(experiments[1].grid(), Runs{&results.runs[1]});
  EXPECT_EQ(experiments[1].all(), (Runs{&results.runs[1], &results.runs[0]}));
  EXPECT_TRUE(experiments[1].has_variants());
  EXPECT_EQ(experiments[2].name, "");
  EXPECT_EQ(experiments[2].grid(), Runs{&results.runs[2]});
}

TEST(ExperimentsTest, RunsOfNoExperimentAreComparedWithTheSameOptionsAlone) {
  ResultSet results;
  for (const auto& [epochs, miner] : {std::pair("1", "random"), std::pair("60", "curnm"),
                                      std::pair("60", "random"), std::pair("1", "random")}) {
    RunResult& run = results.runs.emplace_back(scored_run("uci", "tgn", miner, 0, .5));
    run.flags = {{"epochs", epochs}};
  }
  const std::vector<ExperimentRuns> experiments = experiments_of(results);
  ASSERT_EQ(experiments.size(), 1U);
  EXPECT_TRUE(experiments[0].grid().empty());
  ASSERT_EQ(experiments[0].variants.size(), 2U);
  EXPECT_EQ(experiments[0].variants[0].name, "epochs 1");
  EXPECT_EQ(experiments[0].variants[0].runs, Runs{&results.runs[3]});
  EXPECT_EQ(experiments[0].variants[1].name, "epochs 60");
  EXPECT_EQ(experiments[0].variants[1].runs, (Runs{&results.runs[1], &results.runs[2]}));
}

TEST(ExperimentsTest, OfTwoRunsInOnePlaceTheLaterCountsAndThatIsSaid) {
  ResultSet results;
  add_cell(results, "main", "", scored_run("uci", "tgn", "random", 0, .5));
  add_cell(results, "main", "", scored_run("uci", "tgn", "random", 0, .9));
  results.cells.push_back(results.cells.back());  // the same run again is no conflict
  const ExperimentRuns experiment = experiments_of(results).at(0);
  EXPECT_EQ(experiment.grid(), Runs{&results.runs[1]});
  EXPECT_EQ(experiment.superseded, Runs{&results.runs[0]});
  ASSERT_EQ(notes_of(experiment).size(), 1U);
  EXPECT_EQ(notes_of(experiment)[0].substr(0, 20), "1 of the runs is lef");
}

TEST(NotesTest, DifferentDataVersionsAndMachines) {
  ResultSet results;
  for (const std::int64_t seed : {0, 1}) {
    RunResult run = scored_run("uci", "tgn", "random", seed, .5);
    add_cell(results, "main", "", run);
  }
  EXPECT_TRUE(notes_of(experiments_of(results).at(0)).empty());
  results.runs[0].data_digest = "aa";
  results.runs[1].data_digest = "bb";
  results.runs[0].version = "1";
  results.runs[1].version = "2";
  results.runs[0].environment = {.cpu = "slow", .threads = 2};
  results.runs[1].environment = {.cpu = "slow", .threads = 4};
  const Names notes = notes_of(experiments_of(results).at(0));
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_NE(notes[0].find("uci"), std::string::npos);
  EXPECT_NE(notes[0].find("aa, bb"), std::string::npos);
  EXPECT_NE(notes[1].find("1, 2"), std::string::npos);
  EXPECT_NE(notes[2].find("threads"), std::string::npos);
}

TEST(TablesTest, NothingGivesNothing) {
  EXPECT_TRUE(experiments_of({}).empty());
  EXPECT_TRUE(grid_of({}).rows.empty());
  EXPECT_TRUE(score_table({}, kTrans).rows.empty());
  EXPECT_TRUE(variant_table({}, kTrans).groups.empty());
}

}  // namespace
}  // namespace curnm
