#include "curnm/experiments/run_folder.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/run_folders.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::error_of;
using testing::write_bytes;

class RunFolderTest : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_;
};

TEST_F(RunFolderTest, TellsWhatARunDid) {
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
}

TEST_F(RunFolderTest, ARunWithoutAResultIsPaused) {
  testing::write_run_folder(folder_.path());
  std::filesystem::remove(folder_.path() / "result.json");
  const RunResult run = read_run_folder(folder_.path());
  EXPECT_EQ(run.state, RunState::kPaused);
  EXPECT_EQ(run.curve.size(), 2U);
  std::filesystem::remove(folder_.path() / "metrics.jsonl");
  EXPECT_TRUE(read_run_folder(folder_.path()).curve.empty());
}

TEST_F(RunFolderTest, ANetworkMayHaveNoNewNodes) {
  testing::write_run_folder(folder_.path());
  write_bytes(folder_.path() / "result.json",
              R"({"test": {"trans": {"ap": 0.9}}, "test_new": null, "best_baseline_new": null,
                  "best_epoch": 0, "seconds_per_epoch": 1})");
  EXPECT_EQ(read_run_folder(folder_.path()).scores.size(), 1U);
}

TEST_F(RunFolderTest, SaysWhatIsWrong) {
  EXPECT_NE(error_of([&] { read_run_folder(folder_.path()); }).find("is not a run"),
            std::string::npos);
  for (const char* name : {"options.json", "metrics.jsonl", "result.json"}) {
    for (const char* content : {"", "{", "[]", "{}", "\0\0\0"}) {
      if (std::string(content).empty() && std::string(name) == "metrics.jsonl") continue;
      testing::write_run_folder(folder_.path());
      write_bytes(folder_.path() / name, content);
      EXPECT_NE(error_of([&] { read_run_folder(folder_.path()); }).find("is damaged"),
                std::string::npos)
          << name << ": " << content;
    }
  }
}

}  // namespace
}  // namespace curnm
