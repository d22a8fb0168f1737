#include "curnm/experiments/run_result.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/run_folders.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::write_bytes;

class RunResultTest : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_;
};

TEST_F(RunResultTest, TellsWhatARunDid) {
  testing::write_run_folder(folder_.path());
  const RunResult run = read_run_folder(folder_.path());
  EXPECT_EQ(run.state, RunState::kDone);
  EXPECT_EQ(run.network, "uci");
  EXPECT_EQ(run.model, "tgn");
  EXPECT_EQ(run.miner, "curnm");
  EXPECT_EQ(run.seed, 3);
  EXPECT_EQ(run.options["miner"]["pool"], 8);
  EXPECT_EQ(run.epochs, 2);
  EXPECT_EQ(run.best_epoch, 1);
  EXPECT_EQ(run.training_events, 100);
  EXPECT_EQ(run.environment.cpu, "A CPU");
  EXPECT_EQ(find_score(run, "test", "trans", "ap"), 0.9);
  EXPECT_EQ(find_score(run, "test_new", "trans", "ap"), 0.8);
  EXPECT_EQ(run.scores.size(), 2U) << "the number of events is no score";
  ASSERT_EQ(run.baselines.size(), 2U);
  EXPECT_EQ(run.baselines[1].set, "test_new");
  EXPECT_EQ(run.baselines[1].name, "recency-dst");
  EXPECT_EQ(run.curve[1].validation_ap, 0.7);
  const auto metrics = nlohmann::json::parse(run.curve[1].metrics);
  EXPECT_EQ(metrics["mining.pi"], 0.95);
  EXPECT_EQ(metrics["losses.random"], 0.5);
  EXPECT_EQ(metrics["validation.trans"], 0.7);
  EXPECT_EQ(metrics["stages.embed"], 0);
}

TEST_F(RunResultTest, TheRankingIsAmongTheScores) {
  testing::write_run_folder(folder_.path());
  EpochRecord record{.epoch = 0, .validation_ap = 0.6};
  record.validation_mrr = 0.25;
  RunFolder(folder_.path()).write_metrics({record});
  write_bytes(folder_.path() / "result.json",
              R"({"test": {"mrr": {"mrr": 0.5, "hits10": 0.75, "candidates": 20}}, "test_new": null,
                  "best_ranking": {"mrr": 0.375, "hits10": 0.5, "candidates": 20, "name": "ages"},
                  "best_ranking_new": null, "epochs": 1, "best_epoch": 0,
                  "seconds_per_epoch": 1.0})");
  const RunResult run = read_run_folder(folder_.path());
  EXPECT_EQ(find_score(run, "test", kRankingScores, "mrr"), 0.5);
  EXPECT_EQ(find_score(run, "test", kRankingScores, "candidates"), 20);
  ASSERT_EQ(run.baselines.size(), 1U);
  EXPECT_EQ(run.baselines[0].protocol, kRankingScores);
  EXPECT_EQ(run.baselines[0].name, "ages");
  EXPECT_EQ(run.baselines[0].value, 0.375);
  EXPECT_EQ(run.curve[0].validation_mrr, 0.25);
  EXPECT_EQ(nlohmann::json::parse(run.curve[0].metrics)["validation_mrr"], 0.25);
}

TEST_F(RunResultTest, ARunWithoutAResultIsPaused) {
  testing::write_run_folder(folder_.path());
  std::filesystem::remove(folder_.path() / "result.json");
  const RunResult run = read_run_folder(folder_.path());
  EXPECT_EQ(run.state, RunState::kPaused);
  EXPECT_EQ(run.curve.size(), 2U);
  std::filesystem::remove(folder_.path() / "metrics.jsonl");
  EXPECT_TRUE(read_run_folder(folder_.path()).curve.empty());
}

TEST_F(RunResultTest, ANetworkMayHaveNoNewNodes) {
  testing::write_run_folder(folder_.path());
  write_bytes(folder_.path() / "result.json",
              R"({"test": {"trans": {"ap": 0.9}}, "test_new": null, "best_baseline_new": null,
                  "best_epoch": 0, "seconds_per_epoch": 1})");
  EXPECT_EQ(read_run_folder(folder_.path()).scores.size(), 1U);
}

TEST_F(RunResultTest, KeepsEveryGroupOfOptions) {
  testing::write_run_folder(folder_.path());
  write_bytes(folder_.path() / "options.json",
              R"({"version": "0.1.0", "data": "uci", "data_digest": "abc",
                  "train": {"model": "tgn", "miner": "curnm", "seed": 3},
                  "decoder": {"width": 9}})");
  const RunResult run = read_run_folder(folder_.path());
  EXPECT_EQ(run.options["decoder"]["width"], 9);
  EXPECT_FALSE(run.options.contains("version")) << "that is no group";
}

// What JSON has no word for is left out of the curve.
TEST_F(RunResultTest, AMeasureThatIsNoNumberIsNoDamage) {
  testing::write_run_folder(folder_.path());
  RunFolder(folder_.path())
      .write_metrics({{.epoch = 0, .mining = {{"pi", 1}, {"training_auc", std::nan("")}}}});
  const auto metrics = nlohmann::json::parse(read_run_folder(folder_.path()).curve.at(0).metrics);
  EXPECT_EQ(metrics["mining.pi"], 1);
  EXPECT_FALSE(metrics.contains("mining.training_auc"));
}

TEST_F(RunResultTest, SaysWhatIsWrong) {
  EXPECT_TRUE(testing::fails([&] { read_run_folder(folder_.path() / "nowhere"); },
                             {"nowhere does not exist"}));
  EXPECT_TRUE(
      testing::fails<UnusableRun>([&] { read_run_folder(folder_.path()); }, {"is not a run"}));
  for (const char* name : {"options.json", "metrics.jsonl", "result.json"}) {
    for (const char* content : {"", "{", "[]", "{}", "\0\0\0", R"({"epoch":0,"seconds":1})"}) {
      if (std::string(content).empty() && std::string(name) == "metrics.jsonl") continue;
      testing::write_run_folder(folder_.path());
      write_bytes(folder_.path() / name, content);
      EXPECT_TRUE(
          testing::fails<UnusableRun>([&] { read_run_folder(folder_.path()); }, {"is damaged"}))
          << name << ": " << content;
    }
  }
}

}  // namespace
}  // namespace curnm
