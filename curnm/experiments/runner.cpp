#include "curnm/experiments/runner.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/experiments/child_process.h"
#include "curnm/experiments/run_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

constexpr auto kTick = std::chrono::milliseconds(200);

struct Worker {
  const Assignment* assignment;
  ChildProcess process;
};

/// The error that a program of ours ended with, or its last words.
std::string last_words(const fs::path& log) {
  std::string words;
  const auto file = MappedFile::open(log);
  std::string_view rest = file->text();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (const std::string_view line = rest.substr(0, end); !line.empty()) words = line;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  constexpr std::string_view kPrefix = "curnm: ";
  return words.starts_with(kPrefix) ? words.substr(kPrefix.size()) : words;
}

class Runner {
 public:
  Runner(ResultStore& store, const RunnerOptions& options, RunnerObserver& observer)
      : store_(store), options_(options), observer_(observer) {
    fs::create_directories(options.folder);
  }

  RunnerOutcome run(std::span<const Assignment> assignments) {
    auto next = assignments.begin();
    while (true) {
      if (!outcome_.stopped && observer_.stop_requested()) stop();
      while (!outcome_.stopped && next != assignments.end() &&
             std::ssize(workers_) < options_.workers) {
        begin(*next++);
      }
      if (workers_.empty()) return outcome_;
      std::this_thread::sleep_for(kTick);
      collect();
      observer_.on_tick(epochs());
    }
  }

 private:
  fs::path folder(const Assignment& assignment) const {
    return options_.folder / assignment.job.folder_name();
  }
  fs::path log(const Assignment& assignment) const {
    return options_.folder / (assignment.job.folder_name() + ".log");
  }

  void begin(const Assignment& assignment) {
    if (!store_.claim(assignment.run)) {
      if (store_.state(assignment.run) == RunState::kRunning) ++outcome_.elsewhere;
      return;
    }
    // A process may have died between the end of a training and its record.
    if (fs::exists(folder(assignment) / "result.json")) return record(assignment);
    if (!assignment.missing.empty()) return fail_run(assignment, assignment.missing);
    observer_.on_start(assignment);
    workers_.push_back({&assignment, ChildProcess(command(assignment), log(assignment))});
  }

  std::vector<std::string> command(const Assignment& assignment) const {
    const Job& job = assignment.job;
    std::vector<std::string> words = {options_.program, "train"};
    if (fs::exists(folder(assignment) / "options.json")) {
      words.insert(words.end(), {"--resume", folder(assignment)});
    } else {
      words.insert(words.end(), {assignment.data, "--out", folder(assignment), "--model", job.model,
                                 "--miner", job.miner, "--seed", std::to_string(job.seed)});
      for (const auto& [name, value] : job.flags)
        words.push_back(fmt::format("--{}={}", name, value));
    }
    words.insert(words.end(), {"--threads", std::to_string(options_.threads)});
    if (assignment.until_epoch > 0) {
      words.insert(words.end(), {"--until-epoch", std::to_string(assignment.until_epoch)});
    }
    return words;
  }

  void collect() {
    std::erase_if(workers_, [&](Worker& worker) {
      const std::optional<Exit> exit = worker.process.poll();
      if (exit) end(*worker.assignment, *exit);
      return exit.has_value();
    });
  }

  void end(const Assignment& assignment, const Exit& exit) {
    if (exit.code == 0 && exit.signal == 0) return record(assignment);
    const bool interrupted = exit.code == 128 + SIGTERM || exit.signal == SIGTERM;
    if (interrupted && outcome_.stopped) return store_.release(assignment.run);
    const std::string words = exit.signal == 0 ? last_words(log(assignment)) : "";
    fail_run(assignment, words.empty() ? describe(exit) : words);
  }

  void record(const Assignment& assignment) {
    RunResult result;
    try {
      result = read_run_folder(folder(assignment));
    } catch (const Error& error) {
      return fail_run(assignment, error.what());
    }
    store_.record(assignment.run, result);
    if (result.state == RunState::kDone) ++outcome_.done;
    observer_.on_end(assignment, result);
  }

  void fail_run(const Assignment& assignment, const std::string& reason) {
    store_.fail_run(assignment.run, reason);
    ++outcome_.failed;
    RunResult result;
    result.state = RunState::kFailed;
    result.reason = reason;
    observer_.on_end(assignment, result);
  }

  void stop() {
    outcome_.stopped = true;
    for (Worker& worker : workers_) worker.process.request_stop();
  }

  std::vector<std::int64_t> epochs() const {
    std::vector<std::int64_t> done;
    for (const Worker& worker : workers_) {
      const fs::path metrics = folder(*worker.assignment) / "metrics.jsonl";
      done.push_back(
          fs::exists(metrics) ? std::ranges::count(MappedFile::open(metrics)->text(), '\n') : 0);
    }
    return done;
  }

  ResultStore& store_;
  const RunnerOptions& options_;
  RunnerObserver& observer_;
  std::vector<Worker> workers_;
  RunnerOutcome outcome_;
};

}  // namespace

RunnerOutcome run_assignments(ResultStore& store, std::span<const Assignment> assignments,
                              const RunnerOptions& options, RunnerObserver& observer) {
  return Runner(store, options, observer).run(assignments);
}

}  // namespace curnm
