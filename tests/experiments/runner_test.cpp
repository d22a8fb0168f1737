#include "curnm/experiments/runner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/run_folders.h"
#include "support/temporary_folder.h"

// The program that the runner starts is a shell script here, so that it can crash, hang and lie.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using testing::read_bytes;
using testing::write_bytes;

class Watcher final : public RunnerObserver {
 public:
  void on_start(const Assignment&) override { ++started; }
  void on_end(const Assignment&, const RunResult& result) override { ends.push_back(result); }
  void on_restart(const Assignment&, const std::string& reason) override {
    restarts.push_back(reason);
  }
  void on_elsewhere(const Assignment&) override { ++elsewhere; }
  void on_tick(std::span<const std::int64_t> epochs) override {
    for (std::int64_t done : epochs) most_epochs = std::max(most_epochs, done);
    most_at_once = std::max(most_at_once, epochs.size());
    ++ticks;
  }
  bool stop_requested() override { return stop_after > 0 && ticks >= stop_after; }

  int started = 0;
  int ticks = 0;
  int stop_after = 0;
  std::size_t most_at_once = 0;
  std::int64_t most_epochs = 0;
  std::vector<RunResult> ends;
  std::vector<std::string> restarts;
  int elsewhere = 0;
};

class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_run_folder(folder_.path() / "template"); }

  /// A program that remembers its arguments and then does as told; $out is its run folder, which
  /// `finish` fills like a training that ended.
  void program(const std::string& body) {
    const fs::path file = folder_.path() / "program";
    write_bytes(file,
                "#!/bin/bash\necho \"$@\" >> " + (folder_.path() / "calls").string() +
                    "\nwhile (($#)); do case $1 in --out|--resume) out=$2;; esac; shift; done\n"
                    "begin() { mkdir -p $out; cp " +
                    (folder_.path() / "template").string() +
                    "/{options.json,metrics.jsonl} $out; }\n"
                    "finish() { begin; cp " +
                    (folder_.path() / "template").string() + "/result.json $out; }\n" + body);
    fs::permissions(file, fs::perms::owner_all);
  }

  Assignment assignment(std::int64_t seed) {
    const Job job{.network = "uci",
                  .model = "tgn",
                  .miner = "curnm",
                  .seed = seed,
                  .flags = {{"epochs", "2"}}};
    return {.run = store_.add(job), .job = job, .data = "data/uci"};
  }

  /// One that failed before.
  Assignment retried(std::int64_t seed) {
    Assignment again = assignment(seed);
    again.retry = true;
    return again;
  }
  fs::path folder_of(const Assignment& assignment) const {
    return folder_.path() / "runs" / assignment.job.folder_name();
  }

  RunnerOutcome run(const std::vector<Assignment>& assignments, std::int64_t workers = 1) {
    return run_assignments(store_, assignments,
                           {.program = folder_.path() / "program",
                            .folder = folder_.path() / "runs",
                            .workers = workers,
                            .threads = 3},
                           watcher_);
  }

  /// Another process is the runner, and dies when its program has begun.
  void begin_and_kill_the_runner(const Assignment& assignment) {
    const pid_t runner = ::fork();
    if (runner == 0) {
      ResultStore store(folder_.path() / "results.db");
      Watcher watcher;
      run_assignments(store, std::vector{assignment},
                      {.program = folder_.path() / "program", .folder = folder_.path() / "runs"},
                      watcher);
      ::_exit(0);
    }
    const fs::path begun = folder_.path() / "runs" / assignment.job.folder_name() / "metrics.jsonl";
    for (int i = 0; i < 500 && !fs::exists(begun); ++i) ::usleep(10'000);
    ::kill(runner, SIGKILL);
    ::waitpid(runner, nullptr, 0);
  }

  std::string calls() const { return read_bytes(folder_.path() / "calls"); }
  RunResult stored(std::size_t index = 0) const { return store_.load().runs.at(index); }

  testing::TemporaryFolder folder_;
  ResultStore store_{folder_.path() / "results.db"};
  Watcher watcher_;
};

TEST_F(RunnerTest, RecordsWhatTheProgramLeaves) {
  program("finish");
  const RunnerOutcome outcome = run({assignment(0), assignment(1)});
  EXPECT_EQ(outcome.done, 2);
  EXPECT_EQ(outcome.failed, 0);
  EXPECT_EQ(watcher_.started, 2);
  EXPECT_EQ(stored(1).state, RunState::kDone);
  EXPECT_EQ(find_score(stored(), "test", "trans", "ap"), 0.9);
  const std::string folder = (folder_.path() / "runs" / assignment(0).job.folder_name()).string();
  EXPECT_EQ(calls().substr(0, calls().find('\n')),
            "train data/uci --out " + folder +
                " --model tgn --miner curnm --seed 0 --epochs=2 --threads 3");
}

TEST_F(RunnerTest, DoesNothingTwice) {
  program("finish");
  run({assignment(0)});
  const RunnerOutcome again = run({assignment(0)});
  EXPECT_EQ(again.done, 0);
  EXPECT_EQ(watcher_.started, 1);
}

TEST_F(RunnerTest, TakesAResultThatWasNeverRecorded) {
  program("exit 1");
  testing::write_run_folder(folder_.path() / "runs" / assignment(0).job.folder_name());
  EXPECT_EQ(run({assignment(0)}).done, 1);
  EXPECT_EQ(watcher_.started, 0);
  EXPECT_EQ(stored().state, RunState::kDone);
}

TEST_F(RunnerTest, ContinuesWhatWasBegun) {
  program("[[ -e $out ]] && finish || { begin; kill -KILL $$; }");
  EXPECT_EQ(run({assignment(0)}).failed, 1);
  EXPECT_EQ(stored().reason, "killed by signal 9 (Killed)");
  EXPECT_EQ(run({assignment(0)}).done, 0) << "not without being told";
  EXPECT_EQ(run({retried(0)}).done, 1);
  EXPECT_NE(calls().find("train --resume "), std::string::npos);
}

TEST_F(RunnerTest, ContinuesWithTheDataWhereItIsNow) {
  program("[[ -e $out ]] && finish || { begin; kill -KILL $$; }");
  run({assignment(0)});
  Assignment moved = retried(0);
  moved.data = "elsewhere/uci";
  EXPECT_EQ(run({moved}).done, 1);
  EXPECT_NE(calls().find(moved.job.folder_name() + " --data elsewhere/uci"), std::string::npos);
}

TEST_F(RunnerTest, WhatCannotGoOnBeginsAgainWhenItIsRetried) {
  program("[[ -e $out ]] && { echo 'curnm: damaged' >&2; exit 3; }; begin; kill -KILL $$");
  EXPECT_EQ(run({assignment(0)}).failed, 1);
  program("[[ -e $out ]] && { echo 'curnm: damaged' >&2; exit 3; }; finish");
  store_.release(1, "");
  EXPECT_EQ(run({assignment(0)}).failed, 1) << "nothing is thrown away without being told";
  EXPECT_EQ(run({retried(0)}).done, 1);
  EXPECT_EQ(watcher_.restarts, std::vector<std::string>{"damaged"});
}

// A training that goes on to the same bits fails in the same epoch again.
TEST_F(RunnerTest, WhatGoesOnAndFailsAgainIsKept) {
  program("begin; exit 1");
  EXPECT_EQ(run({assignment(0)}).failed, 1);
  write_bytes(folder_of(assignment(0)) / "checkpoint", "best");
  EXPECT_EQ(run({retried(0)}).failed, 1);
  EXPECT_TRUE(watcher_.restarts.empty());
  EXPECT_TRUE(fs::exists(folder_of(assignment(0)) / "checkpoint"));
}

// What a finished run has lost of its records can be written again from its checkpoint.
TEST_F(RunnerTest, ADamagedResultIsMendedNotThrownAway) {
  const Assignment mine = assignment(0);
  testing::write_run_folder(folder_of(mine));
  write_bytes(folder_of(mine) / "metrics.jsonl", "{\"epoch\": 0, \"valid");
  write_bytes(folder_of(mine) / "checkpoint", "best");
  program("finish");
  EXPECT_EQ(run({mine}).failed, 1);
  EXPECT_NE(stored().reason.find("is damaged"), std::string::npos);
  Assignment without_data = retried(0);
  without_data.missing = "there is none";
  EXPECT_EQ(run({without_data}).missing, 1);
  EXPECT_TRUE(fs::exists(folder_of(mine) / "checkpoint"));
  EXPECT_EQ(run({retried(0)}).done, 1);
  EXPECT_NE(calls().find("train --resume "), std::string::npos);
  EXPECT_TRUE(watcher_.restarts.empty());
  EXPECT_TRUE(fs::exists(folder_of(mine) / "checkpoint"));
}

TEST_F(RunnerTest, ResultsOnOtherDataAreNotTaken) {
  program("[[ -e $out ]] && { echo 'curnm: other data' >&2; exit 3; }; finish");
  Assignment mine = assignment(0);
  mine.digest = "def";  // that of the folder is abc
  testing::write_run_folder(folder_of(mine));
  EXPECT_EQ(run({mine}).failed, 1);
  EXPECT_NE(stored().reason.find("other data"), std::string::npos);
  mine.digest = "abc";
  mine.retry = true;
  EXPECT_EQ(run({mine}).done, 1);
  EXPECT_EQ(watcher_.started, 0);

  Assignment again = retried(1);
  testing::write_run_folder(folder_of(again));
  again.digest = "def";
  run({again});
  EXPECT_EQ(watcher_.restarts, std::vector<std::string>{"other data"});
  EXPECT_EQ(watcher_.started, 2) << "asked whether it can be used, then trained again";
}

TEST_F(RunnerTest, AFullDiskStopsAllAndFailsNothing) {
  program("echo 'curnm: cannot write checkpoint: No space left on device' >&2; exit 4");
  const RunnerOutcome outcome = run({assignment(0), assignment(1)});
  EXPECT_TRUE(outcome.disk_full);
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.failed, 0);
  EXPECT_EQ(watcher_.started, 1);
  EXPECT_EQ(stored(0).state, RunState::kWaiting);
  program("finish");
  EXPECT_EQ(run({assignment(0), assignment(1)}).done, 2);
}

// The exit code decides: a program may mention a full disk and mean something else.
TEST_F(RunnerTest, NoMessageStopsTheOthers) {
  program("echo 'curnm: the network No space left on device is unknown' >&2; exit 1");
  const RunnerOutcome outcome = run({assignment(0), assignment(1)});
  EXPECT_FALSE(outcome.disk_full);
  EXPECT_EQ(outcome.failed, 2);
}

TEST_F(RunnerTest, AFullDiskNeedsNoWords) {
  program("exit 4");
  EXPECT_TRUE(run({assignment(0)}).disk_full);
  EXPECT_EQ(stored().reason, "exit code 4");
}

TEST_F(RunnerTest, AFullDiskStopsTheOtherWorkers) {
  program(
      "[[ $out == *-curnm-1-* ]] && { echo 'curnm: No space left on device' >&2; exit 4; }; "
      "begin; trap 'exit 143' TERM; sleep 60 & wait $!");
  const RunnerOutcome outcome =
      run({assignment(0), assignment(1), assignment(2), assignment(3)}, /*workers=*/3);
  EXPECT_TRUE(outcome.disk_full);
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.failed, 0);
  EXPECT_EQ(watcher_.started, 3);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(stored(i).state, RunState::kWaiting);
}

TEST_F(RunnerTest, KeepsTheReasonOfAFailureAndGoesOn) {
  program(
      "[[ $out == *-curnm-1-* ]] && finish || { echo 'curnm: the loss became nan' >&2; exit 1; }");
  const RunnerOutcome outcome = run({assignment(0), assignment(1)});
  EXPECT_EQ(outcome.failed, 1);
  EXPECT_EQ(outcome.done, 1);
  EXPECT_EQ(stored(0).reason, "the loss became nan");
  EXPECT_EQ(stored(1).state, RunState::kDone);
}

TEST_F(RunnerTest, ReasonsAreWholeAndOfTheLastAttempt) {
  program("echo 'epoch 0'; echo 'curnm: these differ:' >&2; echo 'the second line' >&2; exit 1");
  run({assignment(0)});
  EXPECT_EQ(stored().reason, "these differ:\nthe second line");
  program("exit 3");
  store_.release(1, "");
  run({assignment(0)});
  EXPECT_EQ(stored().reason, "exit code 3");
}

TEST_F(RunnerTest, DoesNotBelieveAProgramThatLeavesNothing) {
  program("exit 0");
  EXPECT_EQ(run({assignment(0)}).failed, 1);
  EXPECT_NE(stored().reason.find("does not exist"), std::string::npos);
  program("mkdir -p $out");
  EXPECT_EQ(run({assignment(1)}).failed, 1);
  EXPECT_NE(stored(1).reason.find("is not a run"), std::string::npos);
}

TEST_F(RunnerTest, AProgramThatDoesNotExistFailsItsRuns) {
  EXPECT_EQ(run({assignment(0)}).failed, 1);
  EXPECT_EQ(stored().reason, "exit code 127");
}

TEST_F(RunnerTest, RunsWithoutANetworkWaitForIt) {
  program("finish");
  Assignment without = assignment(0);
  without.missing = "there is no such network";
  const RunnerOutcome outcome = run({without, assignment(1)});
  EXPECT_EQ(outcome.missing, 1);
  EXPECT_EQ(outcome.done, 1);
  EXPECT_EQ(stored(0).state, RunState::kWaiting);
  EXPECT_EQ(stored(0).reason, "there is no such network");
  EXPECT_EQ(run({assignment(0)}).done, 1) << "it is there now";
}

TEST_F(RunnerTest, WaitsForAProgramThatOutlivedItsRunner) {
  // It finishes what it was at instead of stopping, as a training does while it tests.
  program("trap '' TERM; begin; sleep 1; finish");
  const Assignment mine = assignment(0);
  begin_and_kill_the_runner(mine);
  EXPECT_EQ(run({mine}).done, 1);
  EXPECT_EQ(watcher_.started, 0) << "the result is that of the first program";
  EXPECT_EQ(std::ranges::count(calls(), '\n'), 1);
}

TEST_F(RunnerTest, PausedRunsArePaused) {
  program("begin");
  Assignment part = assignment(0);
  part.until_epoch = 2;
  const RunnerOutcome outcome = run({part});
  EXPECT_EQ(outcome.done + outcome.failed, 0);
  EXPECT_EQ(stored().state, RunState::kPaused);
  EXPECT_EQ(stored().curve.size(), 2U);
  EXPECT_NE(calls().find("--until-epoch 2"), std::string::npos);
}

TEST_F(RunnerTest, StopsWhenAskedAndGoesOnLater) {
  program(
      "[[ -e $out ]] && { finish; exit; }; begin; trap 'exit 143' TERM; sleep 60 >/dev/null 2>&1 & "
      "wait");
  watcher_.stop_after = 2;
  const RunnerOutcome outcome = run({assignment(0), assignment(1)}, /*workers=*/1);
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.failed, 0) << "it was us who stopped it";
  EXPECT_EQ(stored().state, RunState::kWaiting);
  EXPECT_EQ(watcher_.most_epochs, 2);
  watcher_.stop_after = 0;
  program("finish");
  EXPECT_EQ(run({assignment(0), assignment(1)}).done, 2);
}

TEST_F(RunnerTest, WorksOnSeveralAtOnce) {
  program("sleep 0.5; finish");
  const RunnerOutcome outcome =
      run({assignment(0), assignment(1), assignment(2), assignment(3)}, /*workers=*/3);
  EXPECT_EQ(outcome.done, 4);
  EXPECT_EQ(watcher_.most_at_once, 3U);
}

TEST_F(RunnerTest, LeavesAloneWhatAnotherProcessHas) {
  program("finish");
  const Assignment taken = assignment(0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const bool has = ResultStore(folder_.path() / "results.db").claim(taken.run);
    if (::write(ready[1], has ? "y" : "n", 1) != 1) ::_exit(1);
    ::pause();
  }
  char answer = 'n';
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const RunnerOutcome outcome = run({taken, assignment(1)});
  EXPECT_EQ(outcome.elsewhere, 1);
  EXPECT_EQ(watcher_.elsewhere, 1);
  EXPECT_EQ(outcome.done, 1);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_EQ(run({taken, assignment(1)}).done, 1) << "it is free now";
}

TEST_F(RunnerTest, ProgramsStopWhenTheRunnerIsKilled) {
  const fs::path stopped = folder_.path() / "stopped";
  program("trap 'touch " + stopped.string() +
          "; exit 143' TERM; begin; sleep 60 >/dev/null 2>&1 & wait");
  const Assignment mine = assignment(0);
  begin_and_kill_the_runner(mine);
  for (int i = 0; i < 500 && !fs::exists(stopped); ++i) ::usleep(10'000);
  EXPECT_TRUE(fs::exists(stopped));
  EXPECT_EQ(stored().state, RunState::kWaiting);
}

}  // namespace
}  // namespace curnm
