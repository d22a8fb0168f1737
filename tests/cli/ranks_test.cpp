#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/cli_fixture.h"

namespace curnm {
namespace {

using nlohmann::json;
using testing::CommandResult;
using testing::contains;

constexpr const char* kSmall =
    " --model tgn --outputs single --decoder additive --tau 0.99 --width 16 --time-width 8"
    " --neighbors 4 --threads 1 --checkpoint-seconds 0 --patience 1000000";

std::string quick(int batch = 20, int epochs = 4) {
  return kSmall + (" --batch " + std::to_string(batch)) + " --epochs " + std::to_string(epochs);
}

class RanksCli : public testing::Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    ASSERT_EQ(curnm("generate --out net --nodes 60 --events 1500").exit_code, 0);
    if (contains(curnm("train net --ranks 2 --epochs 0 --out x").err, "without Gloo")) {
      GTEST_SKIP() << "this curnm is built without Gloo";
    }
  }

  CommandResult train(const std::string& run, int ranks, const std::string& more = "") const {
    return curnm("train net" + quick() + " --ranks " + std::to_string(ranks) + " --out " + run +
                 " " + more);
  }
  /// One rank of two, as a launcher starts it.
  std::string rank(int rank, int port, const std::string& arguments) const {
    return "env RANK=" + std::to_string(rank) +
           " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port) +
           " " CURNM_BINARY " " + arguments;
  }
  /// Shell code that waits until a test is true, but not for ever.
  static std::string until(const std::string& test) {
    return " for i in $(seq 2000); do [ " + test + " ] && break; sleep 0.05; done; ";
  }
  static int port(int offset) { return 20000 + (::getpid() * 7 + offset) % 9000; }

  /// Epochs without their times, and the test.
  json outcome(const std::string& run) const {
    json all = json::array();
    std::istringstream lines(read(run + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      json epoch = json::parse(line);
      epoch.erase("seconds");
      epoch.erase("stages");
      all.push_back(epoch);
    }
    all.push_back(json::parse(read(run + "/result.json"))["test"]);
    return all;
  }

  void expect_the_same_bits_after_a_kill(int ranks, const std::string& more) const {
    ASSERT_EQ(train("whole", ranks, more).exit_code, 0);
    // Once there is a checkpoint, rank 1 is halted, so that nobody gets past its step; if that was
    // in an epoch before the last, it is killed there.
    const CommandResult killed =
        shell(CURNM_BINARY " train net" + quick() + " --ranks " + std::to_string(ranks) + " " +
              more + " --out killed --restarts 1 & launcher=$!;" + until("-f killed/checkpoint") +
              "for p in $(pgrep -P $launcher); do"
              " grep -qz '^RANK=1$' /proc/$p/environ && kill -STOP $p && one=$p; done;"
              " [ $(wc -l < killed/metrics.jsonl) -lt 3 ] && touch in-time && kill -9 $one;"
              " kill -CONT $one; wait $launcher");
    ASSERT_EQ(killed.exit_code, 0) << killed.err;
    if (std::filesystem::exists(folder_ / "in-time")) {
      EXPECT_TRUE(contains(killed.err, "rank 1 (host ")) << "rank 0 names it: " << killed.err;
      EXPECT_TRUE(contains(killed.err, "starting all ranks again (1 of 1 times)")) << killed.err;
    }
    EXPECT_EQ(outcome("whole"), outcome("killed"));
  }
};

TEST_F(RanksCli, GiveTheSameBitsTwice) {
  for (const int ranks : {1, 2, 4}) {
    const std::string name = std::to_string(ranks);
    ASSERT_EQ(train("a" + name, ranks).exit_code, 0);
    ASSERT_EQ(train("b" + name, ranks).exit_code, 0);
    EXPECT_EQ(outcome("a" + name), outcome("b" + name)) << ranks;
    EXPECT_EQ(read("a" + name + "/model"), read("b" + name + "/model")) << ranks;
  }
  EXPECT_NE(outcome("a1"), outcome("a2")) << "two ranks make half as many steps";
  EXPECT_TRUE(contains(read("a4/rank-3.log"), "epoch   3"));
}

TEST_F(RanksCli, GoOnToTheSameBitsAfterAPause) {
  ASSERT_EQ(train("whole", 2).exit_code, 0);
  ASSERT_EQ(train("paused", 2, "--until-epoch 2").exit_code, 0);
  const CommandResult resumed = curnm("train --resume paused --threads 1");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(outcome("whole"), outcome("paused"));
  EXPECT_EQ(read("whole/model"), read("paused/model"));
}

TEST_F(RanksCli, GoOnToTheSameBitsAfterAKill) { expect_the_same_bits_after_a_kill(2, ""); }

TEST_F(RanksCli, TeamsGoOnToTheSameBitsAfterAKill) {
  expect_the_same_bits_after_a_kill(4, "--parallel batch --batch-ranks 2");
}

TEST_F(RanksCli, ShareBatches) {
  ASSERT_EQ(curnm("train net" + quick(/*batch=*/40) + " --ranks 1 --out one").exit_code, 0);
  ASSERT_EQ(train("whole", 2, "--parallel batch").exit_code, 0);
  const json one = outcome("one");
  const json shared = outcome("whole");
  ASSERT_EQ(one.size(), shared.size());
  for (const char* loss : {"positive", "random", "selected", "contrastive"}) {
    EXPECT_NEAR(one[0]["losses"][loss].get<double>(), shared[0]["losses"][loss].get<double>(), 1e-3)
        << loss;
  }
  EXPECT_EQ(json::parse(read("whole/options.json"))["batch_ranks"], 2);
  EXPECT_EQ(json::parse(curnm("eval whole --threads 1 --json").out)["test"], shared.back())
      << "the ranks have divided the test, and one of them alone finds the same";

  ASSERT_EQ(train("paused", 2, "--parallel batch --until-epoch 2").exit_code, 0);
  const CommandResult resumed = curnm("train --resume paused --threads 1");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(shared, outcome("paused"));
  EXPECT_EQ(read("whole/model"), read("paused/model"));
}

TEST_F(RanksCli, TeamsOfRanksShareBatches) {
  const std::string teams = "--parallel batch --batch-ranks 2";
  ASSERT_EQ(train("whole", 4, teams).exit_code, 0);
  ASSERT_EQ(train("paused", 4, teams + " --until-epoch 2").exit_code, 0);
  ASSERT_EQ(curnm("train --resume paused --threads 1").exit_code, 0);
  EXPECT_EQ(outcome("whole"), outcome("paused"));
  ASSERT_EQ(train("other", 4, "--parallel batch --until-epoch 2").exit_code, 0);
  const CommandResult resumed = curnm("train --resume other --threads 1 " + teams);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(
      contains(resumed.err,
               "the checkpoint is of 4 ranks, 4 to a batch, and now there are 4 ranks, 2 to "
               "a batch"))
      << resumed.err;
}

TEST_F(RanksCli, AnotherNumberOfRanksGoesOnFromTheWeightsAndSaysWhatIsLost) {
  ASSERT_EQ(train("r", 2, "--until-epoch 2").exit_code, 0);
  const CommandResult resumed = curnm("train --resume r --ranks 1 --threads 1");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "the checkpoint is of 2 rank(s), and now there are 1 rank(s)"))
      << resumed.err;
  EXPECT_EQ(outcome("r").size(), 5U) << "all epochs and the test";
}

TEST_F(RanksCli, NameWhatDiffers) {
  const std::string run = "train net" + quick() + " --out d";
  const CommandResult both = shell(rank(1, port(1), run + " --seed 5") + " 2>other & " +
                                   rank(0, port(1), run) + "; code=$?; wait; exit $code");
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_TRUE(contains(both.err, "ranks 0 and 1 differ in train, seed: 0 and 5")) << both.err;
  EXPECT_TRUE(contains(read("other"), "ranks 0 and 1 differ in train, seed: 0 and 5"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "d"));
}

TEST_F(RanksCli, RefuseAnotherNumber) {
  const std::string run = "train net" + quick() + " --out d";
  const CommandResult size =
      shell(rank(1, port(2), run) +
            " 2>other & WORLD_SIZE=3 RANK=0 MASTER_ADDR=127.0.0.1"
            " MASTER_PORT=" +
            std::to_string(port(2)) + " " CURNM_BINARY " " + run + "; code=$?; wait; exit $code");
  EXPECT_EQ(size.exit_code, 1);
  EXPECT_TRUE(contains(size.err, "the ranks disagree about their number")) << size.err;
  EXPECT_TRUE(contains(read("other"), "the ranks disagree about their number")) << read("other");
}

TEST_F(RanksCli, RefuseASecondStart) {
  // Training ends only when it is told to: whichever rank 1 comes second, it comes to a group that
  // forms or trains.
  const std::string endless = "train net" + quick(/*batch=*/20, /*epochs=*/1000000) + " --out d";
  const auto second = [&](const std::string& name) {
    return "( " + rank(1, port(3), endless) + " 2>" + name + ".err; echo $? >" + name +
           ".code ) & ";
  };
  const CommandResult twice = shell(second("a") + second("b") + rank(0, port(3), endless) +
                                    " & first=$!;" + until("-f d/checkpoint") +
                                    until("-f a.code -o -f b.code") + "kill $first; wait $first");
  EXPECT_EQ(twice.exit_code, 143) << "the two that came first trained: " << twice.err;
  const std::string refused = read("a.code") == "1\n" ? "a" : "b";
  EXPECT_EQ(read(refused + ".code"), "1\n");
  EXPECT_TRUE(contains(read(refused + ".err"), "rank 1 was started twice"))
      << read(refused + ".err");
}

TEST_F(RanksCli, ExplainFlagsWithoutEffect) {
  EXPECT_TRUE(contains(curnm("train net --restarts 1 --out r").err, "has no effect"));
  EXPECT_TRUE(contains(curnm("train net --interface lo --out r").err, "has no effect"));
  EXPECT_TRUE(contains(curnm("train net --parallel batch --out r").err, "has no effect"));
  EXPECT_TRUE(contains(curnm("train net --ranks 2 --batch-ranks 2 --out r").err, "has no effect"));
  const CommandResult teams = curnm("train net --ranks 4 --parallel batch --batch-ranks 3 --out r");
  EXPECT_EQ(teams.exit_code, 2);
  EXPECT_TRUE(contains(teams.err, "4 ranks cannot be divided into teams of 3")) << teams.err;
  const CommandResult other = shell(rank(0, port(4), "train net --ranks 3 --out r"));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_TRUE(contains(other.err, "the launcher of this process has started 2")) << other.err;
}

TEST_F(RanksCli, TorchrunStartsThem) {
  if (shell("/usr/bin/python3 -c 'import torch.distributed.run'").exit_code != 0) {
    GTEST_SKIP() << "python3-torch is not installed";
  }
  // Without --redirects and --tee, torchrun 1.13 fails on Python 3.11 before it starts anything.
  const CommandResult result = shell(
      "/usr/bin/python3 -m torch.distributed.run --no_python --nproc_per_node 2"
      " --redirects 1 --tee 1 --log_dir torchrun --master_port " +
      std::to_string(port(5)) + " " CURNM_BINARY " train net" + quick() + " --out t");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(train("own", 2).exit_code, 0);
  EXPECT_EQ(outcome("t"), outcome("own"));
}

TEST_F(RanksCli, BenchPrintsTheAgreedKeys) {
  const CommandResult bench = curnm(
      "bench ranks --data net --settings 1x1,2x1,2x1:batch --rounds 1 --epochs 1 --width 16"
      " --time-width 8 --batch 50 --json");
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const json rows = json::parse(bench.out)["settings"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1]["parallel"], "memory");
  EXPECT_EQ(rows[2]["parallel"], "batch");
  EXPECT_GT(rows[2]["bytes_per_step"].get<double>(), rows[1]["bytes_per_step"].get<double>())
      << "they tell each other about the loss, too";
  EXPECT_EQ(rows[0]["relative"], 1.0);
  EXPECT_EQ(rows[0]["bytes_per_step"], 0.0);
  EXPECT_GT(rows[1]["bytes_per_step"].get<double>(), 0);
  EXPECT_GT(rows[1]["median_events_per_s"].get<double>(), 0);
  EXPECT_TRUE(contains(curnm("bench ranks --data net --settings 2").err, "such as 2x1"));
  EXPECT_TRUE(contains(curnm("bench ranks --data net --settings 1x1:batch").err, "nobody"));
}

TEST_F(RanksCli, DoctorMeasuresLinks) {
  const CommandResult doctor = curnm("doctor --ranks 3 --json");
  ASSERT_EQ(doctor.exit_code, 0) << doctor.err;
  const json found = json::parse(doctor.out);
  EXPECT_EQ(found["ranks"], 3);
  EXPECT_GT(found["round_ms"].get<double>(), 0);
  EXPECT_EQ(found["to_rank_0_mb_per_s"].size(), 2U);
  EXPECT_EQ(curnm("doctor --interface lo").exit_code, 2);
}

}  // namespace
}  // namespace curnm
