#include "curnm/experiments/estimate.h"

#include <gtest/gtest.h>

#include "support/run_results.h"

namespace curnm {
namespace {

const Job kJob{.network = "uci", .model = "tgn", .miner = "curnm", .seed = 0};

TEST(Estimate, PrefersRunsOnTheSameNetwork) {
  RunResult here = testing::finished_run();  // 1.5 s per epoch
  RunResult there = testing::finished_run();
  there.network = "WIKI";
  there.seconds_per_epoch = 100;
  EXPECT_DOUBLE_EQ(Estimates(ResultSet{.runs = {here, there}, .cells = {}}).seconds(kJob, 4000, 10),
                   16.5);
}

TEST(Estimate, ScalesRunsOnOtherNetworksByTheirEvents) {
  RunResult there = testing::finished_run();  // 1000 training events
  there.network = "WIKI";
  // 1.5 ms per training event, of which uci has about half of its 4000 events, ten times.
  EXPECT_DOUBLE_EQ(Estimates(ResultSet{.runs = {there}, .cells = {}}).seconds(kJob, 4000, 10), 33);
}

TEST(Estimate, WithoutRunsItIsOfTheRightOrder) {
  const double seconds = Estimates(ResultSet()).seconds(kJob, 60'000, 60);
  EXPECT_GT(seconds, 60);
  EXPECT_LT(seconds, 6000);
  Job random = kJob;
  random.miner = "random";
  EXPECT_LT(Estimates(ResultSet()).seconds(random, 60'000, 60), seconds);
}

TEST(Estimate, IgnoresOtherMinersAndUnfinishedRuns) {
  RunResult other = testing::finished_run();
  other.miner = "random";
  RunResult unfinished = testing::finished_run();
  unfinished.state = RunState::kFailed;
  EXPECT_EQ(Estimates(ResultSet{.runs = {other, unfinished}, .cells = {}}).seconds(kJob, 4000, 10),
            Estimates(ResultSet()).seconds(kJob, 4000, 10));
}

TEST(Estimate, ARunIsNotSharedByWorkers) {
  EXPECT_DOUBLE_EQ(side_by_side(std::vector<double>{}, 2), 0);
  EXPECT_DOUBLE_EQ(side_by_side(std::vector<double>{100}, 8), 100);
  EXPECT_DOUBLE_EQ(side_by_side(std::vector<double>{100, 20, 20}, 2), 100);
  EXPECT_DOUBLE_EQ(side_by_side(std::vector<double>{30, 20, 10}, 2), 30);
  EXPECT_DOUBLE_EQ(side_by_side(std::vector<double>{10, 10, 10, 10}, 2), 20);
}

}  // namespace
}  // namespace curnm
