#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "support/cli_fixture.h"

// Several processes use one store and one run at the same time, in random order, and are killed at
// random instants. Each does what a person or a cron job might do. Afterwards a checker goes
// through the history of what they were told.
//
// CURNM_FAULT_SECONDS (./dev soak) sets how long; here it is short.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::CommandResult;
using testing::contains;
using Clock = std::chrono::steady_clock;

constexpr int kKilled = 128 + 9;

/// One command of one process, and what it was told.
struct Event {
  std::string command;
  Clock::time_point begin;
  Clock::time_point end;
  CommandResult result;
};

class Histories : public testing::Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    ASSERT_EQ(curnm("generate --nodes 30 --events 600 --communities 3 --out net").exit_code, 0);
    write("grid.yml",
          "networks: [./net]\nmodels: [jodie]\nminers: [random, recent]\nseeds: [0, 1]\n"
          "options: {epochs: 2, width: 8, time-width: 4, batch: 100}\n");
  }

  static double seconds() {
    const char* given = std::getenv("CURNM_FAULT_SECONDS");
    return given == nullptr ? 6 : std::atof(given);
  }

  static constexpr const char* kExperiment =
      "experiment grid.yml --store results/store.db --data-folder . --workers 1 --retry-failed";
  static constexpr const char* kTrain =
      "train net --model jodie --width 8 --time-width 4 --batch 100 --epochs 6 --threads 1 "
      "--checkpoint-seconds 0 --out run";
  static constexpr const char* kResume = "train --resume run --checkpoint-seconds 0";
  static constexpr const char* kResults = "results results/store.db --format json";

  /// What a process does next.
  std::string choose(std::mt19937& random) const {
    switch (random() % 8) {
      case 0:
      case 1:
        return kExperiment;
      case 2:
      case 3:
        return fs::exists(folder_ / "run") ? kResume : kTrain;
      case 4:
        return "report results/store.db --out report.html";
      case 5:
        return "report run --out run.html";
      case 6:
        return "predict run --src 1 --time 1e9 --topk 1";
      default:
        return kResults;
    }
  }

  /// Does things until the time is over. Half of what writes is killed.
  void act(unsigned seed, Clock::time_point until) {
    std::mt19937 random(seed);
    while (Clock::now() < until) {
      const std::string command = choose(random);
      const bool kill = random() % 2 == 0;
      const double after = std::uniform_real_distribution<>(0.02, 2.5)(random);
      const std::string words =
          kill ? fmt::format("timeout -s KILL {:.3f} {} {}", after, CURNM_BINARY, command)
               : fmt::format("{} {}", CURNM_BINARY, command);
      Event event{.command = command, .begin = Clock::now(), .end = {}, .result = {}};
      event.result = shell(words);
      event.end = Clock::now();
      const std::lock_guard lock(mutex_);
      history_.push_back(std::move(event));
    }
  }

  /// The runs that are done by what a process was told, with their scores.
  static std::map<std::string, json> done(const std::string& results) {
    std::map<std::string, json> runs;
    const json all = json::parse(results, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(all.is_array()) << results;
    if (!all.is_array()) return runs;
    for (const json& run : all) {
      if (run["state"] == "done") {
        runs[run["miner"].get<std::string>() + run["seed"].dump()] = run["scores"];
      }
    }
    return runs;
  }

  /// A command ended well, was killed, or was refused for a reason that the others give it.
  static void check_answer(const Event& event) {
    const int code = event.result.exit_code;
    if (code == 0 || code == kKilled) return;
    const std::string& err = event.result.err;
    EXPECT_TRUE(code == 1 || code == 3) << event.command << ": " << code << err;
    const bool explained =
        contains(err, "in the hands of another process") ||  // another experiment has the runs
        contains(err, "run(s) failed") ||                    // their trainings were killed
        contains(err, "there is no store") || contains(err, "exists already") ||
        contains(err, "another process is") || contains(err, "appeared meanwhile") ||
        contains(err, "no checkpoint yet") || contains(err, "is not finished") ||
        contains(err, "is not a run") || contains(err, "does not exist");
    EXPECT_TRUE(explained) << event.command << ": " << code << err;
  }

  /// What was done stays done, with the same scores, for everyone who asks later.
  void check_order() const {
    for (const Event& early : history_) {
      if (early.command != kResults || early.result.exit_code != 0) continue;
      const auto before = done(early.result.out);
      for (const Event& late : history_) {
        if (late.command != kResults || late.result.exit_code != 0) continue;
        if (late.begin < early.end) continue;
        const auto after = done(late.result.out);
        for (const auto& [run, scores] : before) {
          const auto found = after.find(run);
          ASSERT_NE(found, after.end()) << run << " was done and is not any more";
          EXPECT_EQ(found->second, scores) << run;
        }
      }
    }
  }

  /// What SQLite says about the store.
  std::string integrity() const {
    sqlite3* store = nullptr;
    std::string found = "cannot be opened";
    if (sqlite3_open((folder_ / "results/store.db").c_str(), &store) == SQLITE_OK) {
      sqlite3_exec(
          store, "PRAGMA integrity_check",
          [](void* text, int, char** values, char**) {
            *static_cast<std::string*>(text) = values[0];
            return 0;
          },
          &found, nullptr);
    }
    sqlite3_close(store);
    return found;
  }

  std::mutex mutex_;
  std::vector<Event> history_;
};

TEST_F(Histories, SeveralProcessesOneStoreAndOneRun) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(seconds()));
  std::vector<std::thread> processes;
  for (unsigned i = 0; i < 4; ++i) processes.emplace_back([=, this] { act(seed + i, until); });
  for (std::thread& process : processes) process.join();

  for (const Event& event : history_) check_answer(event);
  check_order();
  for (const char* page : {"report.html", "run.html"}) {
    if (!fs::exists(folder_ / page)) continue;
    const std::string html = read(page);
    EXPECT_TRUE(html.ends_with("</html>\n")) << page << " is a part";
  }
  // Left alone, everything comes to its end, and to what it would have been without the others.
  const auto killed = std::count_if(history_.begin(), history_.end(), [](const Event& event) {
    return event.result.exit_code == kKilled;
  });
  ASSERT_EQ(curnm(kExperiment).exit_code, 0);
  const CommandResult run = curnm(fs::exists(folder_ / "run") ? kResume : kTrain);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto found = done(curnm(kResults).out);
  EXPECT_EQ(found.size(), 4U);
  EXPECT_EQ(integrity(), "ok");
  const auto result_of = [&](const char* name) {
    json result = json::parse(read(std::string(name) + "/result.json"), nullptr, false);
    if (result.is_object()) result.erase("seconds_per_epoch");
    return result;
  };
  const json result = result_of("run");
  ASSERT_EQ(shell("rm -rf results run").exit_code, 0);
  ASSERT_EQ(curnm(kExperiment).exit_code, 0);
  ASSERT_EQ(curnm(kTrain).exit_code, 0);
  EXPECT_EQ(found, done(curnm(kResults).out));
  EXPECT_EQ(result, result_of("run"));
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    EXPECT_FALSE(contains(entry.path().filename().string(), ".curnm-partial-")) << entry.path();
  }
  fmt::print("history: {} commands of 4 processes, {} of them killed\n", history_.size(), killed);
}

}  // namespace
}  // namespace curnm
