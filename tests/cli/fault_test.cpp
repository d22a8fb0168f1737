#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "support/cli_fixture.h"
#include "support/power_cut.h"

// A disk that fails at every point where a command changes a file, processes that are killed there,
// power that is cut, and memory that runs out: the command ends well or says what is wrong, and the
// same command can be given again. What a command says it has done survives a power cut.
//
// Here a sample of the points is tried. CURNM_FAULT_SECONDS (./dev soak) tries all of them, each
// with every kind of fault and in random order, and as many allocations, for as long as it says.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::CommandResult;
using testing::contains;
using testing::PowerCut;

constexpr std::array<const char*, 4> kKinds = {"eio", "enospc", "kill", "power"};
constexpr int kKilled = 128 + 9;

/// How long to try the faults of a command; 0: a sample.
double fault_seconds() {
  const char* given = std::getenv("CURNM_FAULT_SECONDS");
  return given == nullptr ? 0 : std::atof(given);
}

struct Fault {
  std::uint64_t at;
  const char* kind;
};

/// Points and allocations are numbered from 1; power is also cut after the last one, when the
/// command has ended. Of a sampled point one kind: the next one of it.
std::vector<Fault> chosen_faults(std::uint64_t points, std::uint64_t allocations,
                                 std::uint64_t sample) {
  std::vector<Fault> faults = {{points + 1, "power"}};
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t of_memory = fault_seconds() == 0 ? 1 : points;
  for (std::uint64_t i = 0; i < of_memory; ++i) {
    faults.push_back({1 + random() % allocations, "memory"});
  }
  if (fault_seconds() == 0) {
    const std::uint64_t step = (points + sample - 1) / sample;
    for (std::uint64_t at = 1; at <= points; at += step) {
      faults.push_back({at, kKinds[faults.size() % kKinds.size()]});
    }
    return faults;
  }
  for (std::uint64_t at = 1; at <= points; ++at) {
    for (const char* kind : kKinds) faults.push_back({at, kind});
  }
  std::shuffle(faults.begin(), faults.end(), random);
  return faults;
}

class Faults : public testing::Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    fs::create_directory(folder_ / "clean");
    write("clean/grid.yml",
          "networks: [./net]\nmodels: [jodie]\nminers: [random]\nseeds: [0]\n"
          "options: {epochs: 2, width: 8, time-width: 4, batch: 100}\n");
    ASSERT_EQ(in("clean", "generate --nodes 30 --events 600 --communities 3 --out net").exit_code,
              0);
    write("clean/events.csv", table(2000));
  }

  /// A command in a folder; with words before it, such as variables.
  CommandResult in(const std::string& place, const std::string& command,
                   const std::string& before = "") const {
    return shell(fmt::format("cd {} && {} {} {}", place, before, CURNM_BINARY, command));
  }
  /// Large enough that reading it takes large allocations.
  static std::string table(int events) {
    std::string text = "src,dst,time\n";
    for (int i = 0; i < events; ++i) text += fmt::format("{},{},{}\n", i % 40, 50 + i % 30, i);
    return text;
  }
  CommandResult with_fault(const std::string& place, const std::string& command, std::uint64_t at,
                           const std::string& kind) const {
    fs::remove(folder_ / "counter");  // a process that was left behind keeps the old one
    write("counter", std::string(8, '\0'));
    std::string disk;
    if (kind == "power") {
      fs::remove_all(folder_ / "disk");
      fs::create_directory(folder_ / "disk");
      disk = fmt::format("CURNM_FAULT_DISK={}/disk ", folder_.string());
    }
    return in(place, command,
              fmt::format("{}CURNM_FAULT_COUNTER={}/counter CURNM_FAULT_AT={} CURNM_FAULT_KIND={} "
                          "LD_PRELOAD={}",
                          disk, folder_.string(), at, kind, CURNM_FAULTS_LIBRARY));
  }
  std::uint64_t calls() const {
    const std::string bytes = read("counter");
    std::uint64_t number = 0;
    std::copy_n(bytes.data(), std::min(sizeof number, bytes.size()),
                reinterpret_cast<char*>(&number));
    return number;
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::remove_all(folder_ / to);
    fs::copy(folder_ / from, folder_ / to, fs::copy_options::recursive);
  }
  /// Files that a command was writing and has neither finished nor removed.
  std::vector<std::string> partials(const std::string& place) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / place)) {
      const std::string name = entry.path().filename().string();
      if (contains(name, ".curnm-partial-")) found.push_back(name);
    }
    return found;
  }

  /// Tries the command with faults. After each, `check` sees the state of the folder, `done` what a
  /// command has said it has done, and `go_on` does what a person would do next and compares with
  /// the folder `good`, made without faults.
  void try_all(const std::string& command, std::uint64_t sample, const std::function<void()>& check,
               const std::function<void()>& done, const std::function<void()>& go_on) {
    copy("clean", "good");
    const CommandResult good = with_fault("good", command, 0, "eio");
    ASSERT_EQ(good.exit_code, 0) << good.err;
    const std::uint64_t points = calls();
    ASSERT_GT(points, 2U) << "nothing is counted: is the library loaded?";
    copy("clean", "bad");
    ASSERT_EQ(with_fault("bad", command, 0, "memory").exit_code, 0);
    const std::uint64_t allocations = calls();
    ASSERT_GT(allocations, 2U) << "nothing is counted: is the library loaded?";
    const std::vector<Fault> faults = chosen_faults(points, allocations, sample);
    const auto begin = std::chrono::steady_clock::now();
    std::size_t tried = 0;
    std::random_device device;
    for (const Fault& fault : faults) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (fault_seconds() > 0 && spent.count() > fault_seconds()) break;
      const unsigned seed = device();
      SCOPED_TRACE(fmt::format("{} at call {} of {}: {} (seed {})", fault.kind, fault.at, points,
                               command, seed));
      copy("clean", "bad");
      const CommandResult bad = with_fault("bad", command, fault.at, fault.kind);
      ++tried;
      if (bad.exit_code != 0 && bad.exit_code != kKilled) {
        EXPECT_TRUE(bad.exit_code == 1 || bad.exit_code == 4) << bad.exit_code << bad.err;
        EXPECT_TRUE(contains(bad.err, "curnm: ") || contains(bad.err, "failed: ") ||
                    contains(bad.err, "disk is full"))
            << bad.err;
      }
      if (std::string_view(fault.kind) == "power") {
        PowerCut(folder_ / "disk", seed).apply(folder_ / "bad");
      }
      check();
      if (bad.exit_code == 0) done();
      go_on();
      EXPECT_EQ(partials("bad"), std::vector<std::string>()) << "left behind";
      if (HasFailure()) return;
    }
    fmt::print("{}: {} faults of {}, at {} points, and among {} allocations\n",
               command.substr(0, command.find(' ')), tried, faults.size(), points, allocations);
  }

  void expect_same_file(const std::string& name) const {
    EXPECT_EQ(read("bad/" + name), read("good/" + name)) << name;
  }
  /// What has its name is whole.
  void expect_json(const std::string& name) const {
    if (!fs::exists(folder_ / name)) return;
    EXPECT_FALSE(json::parse(read(name), nullptr, /*allow_exceptions=*/false).is_discarded())
        << name;
  }
  /// result.json without what differs from time to time.
  json result(const std::string& name) const {
    json parsed = json::parse(read(name), nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object()) parsed.erase("seconds_per_epoch");
    return parsed;
  }
  void expect_same_run(const std::string& run) const {
    EXPECT_EQ(result("bad/" + run + "/result.json"), result("good/" + run + "/result.json"));
    EXPECT_EQ(model_of("bad/" + run), model_of("good/" + run)) << "the bits of the model";
  }
  /// The weights, which follow the header: that has the path of the data.
  std::string model_of(const std::string& run) const {
    const std::string bytes = read(run + "/model");
    std::uint64_t length = 0;
    constexpr std::size_t kMagic = std::string_view("curnm model 1\n").size();
    if (bytes.size() < kMagic + sizeof length + 32) return "no model";
    std::copy_n(bytes.data() + kMagic, sizeof length, reinterpret_cast<char*>(&length));
    const std::string weights =
        bytes.substr(std::min(bytes.size(), kMagic + sizeof length + length));
    return weights.substr(0, weights.size() - 32);
  }
};

constexpr const char* kTrain =
    "train net --model jodie --width 8 --time-width 4 --batch 100 --epochs 2 "
    "--checkpoint-seconds 0 --out run";

TEST_F(Faults, Train) {
  try_all(
      kTrain, /*sample=*/4,
      [&] {
        expect_json("bad/run/options.json");
        expect_json("bad/run/result.json");
      },
      [&] { expect_same_run("run"); },
      [&] {
        const bool begun = fs::exists(folder_ / "bad/run");
        const CommandResult next =
            in("bad", begun ? "train --resume run --checkpoint-seconds 0" : kTrain);
        EXPECT_EQ(next.exit_code, 0) << next.err;
        expect_same_run("run");
      });
}

TEST_F(Faults, Import) {
  const std::string command = "import events.csv --out imported";
  try_all(
      command, /*sample=*/4,
      [&] {
        if (!fs::exists(folder_ / "bad/imported")) return;
        EXPECT_EQ(in("bad", "stats imported").exit_code, 0) << "a part of it is there";
      },
      [&] { expect_same_file("imported/src.i32"); },
      [&] {
        const CommandResult next = in("bad", command + " --force");
        EXPECT_EQ(next.exit_code, 0) << next.err;
        expect_same_file("imported/src.i32");
        EXPECT_EQ(json::parse(read("bad/imported/meta.json"))["digest"],
                  json::parse(read("good/imported/meta.json"))["digest"]);
      });
}

TEST_F(Faults, ReplacedImport) {
  ASSERT_EQ(in("clean", "import events.csv --out imported").exit_code, 0);
  write("clean/events.csv", table(1500));
  const std::string command = "import events.csv --out imported --force";
  try_all(
      command, /*sample=*/4,
      [&] { EXPECT_EQ(in("bad", "stats imported").exit_code, 0) << "neither old nor new"; },
      [&] { expect_same_file("imported/src.i32"); },
      [&] {
        const CommandResult next = in("bad", command);
        EXPECT_EQ(next.exit_code, 0) << next.err;
        expect_same_file("imported/src.i32");
      });
}

TEST_F(Faults, ExportAndReport) {
  ASSERT_EQ(in("clean", kTrain).exit_code, 0);
  try_all(
      "export run --out file", /*sample=*/2, [] {}, [&] { expect_same_file("file"); },
      [&] {
        if (!fs::exists(folder_ / "bad/file")) {
          EXPECT_EQ(in("bad", "export run --out file").exit_code, 0);
        } else {
          EXPECT_EQ(in("bad", "report run --out other.md").exit_code, 0);  // collects
        }
        expect_same_file("file");
      });
  try_all(
      "report run --out report.html", /*sample=*/2,
      [&] {
        if (fs::exists(folder_ / "bad/report.html")) expect_same_file("report.html");
      },
      [&] { expect_same_file("report.html"); },
      [&] {
        EXPECT_EQ(in("bad", "report run --out report.html").exit_code, 0);
        expect_same_file("report.html");
      });
}

TEST_F(Faults, Experiment) {
  const std::string command =
      "experiment grid.yml --store results/store.db --data-folder . --workers 1";
  const auto scores = [&](const std::string& place) {
    const json all =
        json::parse(in(place, "results results/store.db --format json").out, nullptr, false);
    return all.is_array() && all.size() == 1 ? all[0]["scores"] : json();
  };
  const auto expect_scores = [&] {
    EXPECT_TRUE(scores("good").is_object());
    EXPECT_EQ(scores("bad"), scores("good"));
  };
  try_all(
      command, /*sample=*/3, [] {}, expect_scores,
      [&] {
        const CommandResult next = in("bad", command + " --retry-failed");
        EXPECT_EQ(next.exit_code, 0) << next.err;
        expect_scores();
      });
}

/// Kills a training at random instants, goes on with it until it ends, and compares the bits.
TEST_F(Faults, KillsAtRandomInstants) {
  const auto begin = std::chrono::steady_clock::now();
  const auto goes_on = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return spent.count() < fault_seconds();
  };
  copy("clean", "good");
  ASSERT_EQ(in("good", kTrain).exit_code, 0);
  std::random_device device;
  const unsigned seed = device();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  int kills = 0;
  int rounds = 0;
  do {
    ++rounds;
    copy("clean", "bad");
    for (int tries = 0;; ++tries) {
      const bool begun = fs::exists(folder_ / "bad/run");
      // Later tries get more time: the training has to end.
      const double seconds = std::uniform_real_distribution<>(0.05, 1.5)(random) * (1 + tries / 4);
      const CommandResult next =
          in("bad", begun ? "train --resume run --checkpoint-seconds 0" : kTrain,
             fmt::format("timeout -s KILL {:.3f}", seconds));
      if (next.exit_code == 0) break;
      ASSERT_EQ(next.exit_code, kKilled) << next.err;
      ++kills;
    }
    expect_same_run("run");
  } while (goes_on() && !HasFailure());
  fmt::print("kills: {} in {} trainings\n", kills, rounds);
}

}  // namespace
}  // namespace curnm
