#include "curnm/experiments/runner.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/experiments/child_process.h"
#include "curnm/experiments/run_result.h"
#include "curnm/runs/run_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

constexpr auto kTick = std::chrono::milliseconds(200);

struct Worker {
  const Assignment* assignment;
  std::int64_t log_begin;  // where its output begins in the log
  ChildProcess process;
};

/// The error message that a run ended with, or its last line.
std::string last_error(const fs::path& log, std::int64_t begin) {
  std::string words;
  const std::string text = read_file(log);
  std::string_view rest = text;
  rest.remove_prefix(std::min(rest.size(), static_cast<std::size_t>(begin)));  // it may be cut
  constexpr std::string_view kPrefix = "curnm: ";
  if (const std::size_t error = rest.rfind("\n" + std::string(kPrefix)); error != rest.npos) {
    rest.remove_prefix(error + 1);
  }
  if (rest.starts_with(kPrefix)) {
    rest.remove_prefix(kPrefix.size());
    return std::string(rest.substr(0, rest.find_last_not_of('\n') + 1));
  }
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (const std::string_view line = rest.substr(0, end); !line.empty()) words = line;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return words;
}

class Runner {
 public:
  Runner(ResultStore& store, const RunnerOptions& options, RunnerObserver& observer)
      : store_(store), options_(options), observer_(observer) {
    create_folders(options.folder);
  }

  RunnerOutcome run(std::span<const Assignment> assignments) {
    auto next = assignments.begin();
    while (true) {
      if (!outcome_.stopped && (outcome_.disk_full || observer_.stop_requested())) stop();
      std::erase_if(blocked_, [&](const Assignment* assignment) { return start(*assignment); });
      while (!outcome_.stopped && next != assignments.end() &&
             std::ssize(workers_) + std::ssize(blocked_) < options_.workers) {
        begin(*next++);
      }
      if (workers_.empty() && blocked_.empty()) return outcome_;
      observer_.on_tick(epochs());
      std::this_thread::sleep_for(kTick);
      collect();
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
    if (!store_.claim(assignment.run, assignment.retry)) {
      outcome_.elsewhere += store_.state(assignment.run) == RunState::kRunning;
      observer_.on_elsewhere(assignment);
      return;
    }
    if (!start(assignment)) blocked_.push_back(&assignment);
  }

  /// False while a program started by a runner that has died is still working on it.
  bool start(const Assignment& assignment) {
    const std::optional<OutputLog> output = OutputLog::take(log(assignment));
    if (!output) return false;
    // A runner may have died between the end of a training and recording it.
    if (RunFolder(folder(assignment)).is_finished()) {
      RunResult result;
      const std::string flaw = read(assignment, result);
      // On a retry the program itself repairs the folder, or reports that it is unusable.
      if (flaw.empty() || !assignment.retry) {
        conclude(assignment, result, flaw);
        return true;
      }
    }
    if (!assignment.missing.empty()) {
      wait_for_data(assignment);
    } else {
      observer_.on_start(assignment);
      workers_.push_back({&assignment, output->size(),
                          ChildProcess(options_.program, command(assignment), *output)});
    }
    return true;
  }

  std::vector<std::string> command(const Assignment& assignment) const {
    const Job& job = assignment.job;
    std::vector<std::string> words = {"curnm", "train"};
    if (fs::exists(folder(assignment))) {
      words.insert(words.end(), {"--resume", folder(assignment), "--data", assignment.data});
    } else {
      words.insert(words.end(), {assignment.data, "--out", folder(assignment), "--model", job.model,
                                 "--miner", job.miner, "--seed", std::to_string(job.seed)});
      for (const auto& [name, value] : job.flags)
        words.push_back(fmt::format("--{}={}", name, value));
      // A resumed run keeps its number of threads: its sums may depend on it.
      words.insert(words.end(), {"--threads", std::to_string(options_.threads)});
    }
    if (assignment.until_epoch > 0) {
      words.insert(words.end(), {"--until-epoch", std::to_string(assignment.until_epoch)});
    }
    return words;
  }

  void collect() {
    std::erase_if(workers_, [&](Worker& worker) {
      const std::optional<Exit> exit = worker.process.poll();
      if (exit) end(worker, *exit);
      return exit.has_value();
    });
  }

  void end(const Worker& worker, const Exit& exit) {
    const Assignment& assignment = *worker.assignment;
    if (exit.code == 0 && exit.signal == 0) {
      RunResult result;
      const std::string flaw = read(assignment, result);
      return conclude(assignment, result, flaw);
    }
    const bool interrupted = exit.code == 128 + SIGTERM || exit.signal == SIGTERM;
    if (interrupted && outcome_.stopped) return store_.release(assignment.run, "");
    const std::string words = exit.signal == 0 ? last_error(log(assignment), worker.log_begin) : "";
    const std::string reason = words.empty() ? describe(exit) : words;
    if (exit.code == kDiskIsFull) {
      store_.release(assignment.run, reason);
      outcome_.disk_full = true;
    } else if (assignment.retry && exit.code == kUnusableRun && !outcome_.stopped) {
      discard(assignment, reason);
      blocked_.push_back(&assignment);  // to be started again
    } else {
      fail_run(assignment, reason);
    }
  }

  /// Reads a run's folder. Returns why the result cannot be used, "" if it can.
  std::string read(const Assignment& assignment, RunResult& result) const {
    try {
      result = read_run_folder(folder(assignment));
    } catch (const Error& error) {
      return error.what();
    }
    if (assignment.digest.empty() || result.data_digest == assignment.digest) return "";
    return fmt::format("{} was trained on other data of that name", folder(assignment).string());
  }

  void discard(const Assignment& assignment, const std::string& reason) {
    observer_.on_restart(assignment, reason);
    fs::remove_all(folder(assignment));
  }

  void conclude(const Assignment& assignment, const RunResult& result, const std::string& flaw) {
    if (!flaw.empty()) return fail_run(assignment, flaw);
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

  void wait_for_data(const Assignment& assignment) {
    store_.release(assignment.run, assignment.missing);
    ++outcome_.missing;
    RunResult result;
    result.reason = assignment.missing;
    observer_.on_end(assignment, result);
  }

  void stop() {
    outcome_.stopped = true;
    for (Worker& worker : workers_) worker.process.request_stop();
    for (const Assignment* assignment : blocked_) store_.release(assignment->run, "");
    blocked_.clear();
  }

  std::int64_t epochs_of(const Assignment& assignment) const {
    return RunFolder(folder(assignment)).count_epochs();
  }

  std::vector<std::int64_t> epochs() const {
    std::vector<std::int64_t> done;
    for (const Worker& worker : workers_) done.push_back(epochs_of(*worker.assignment));
    return done;
  }

  ResultStore& store_;
  const RunnerOptions& options_;
  RunnerObserver& observer_;
  std::vector<Worker> workers_;
  std::vector<const Assignment*> blocked_;  // ours, but an earlier program still holds them
  RunnerOutcome outcome_;
};

}  // namespace

RunnerOutcome run_assignments(ResultStore& store, std::span<const Assignment> assignments,
                              const RunnerOptions& options, RunnerObserver& observer) {
  return Runner(store, options, observer).run(assignments);
}

}  // namespace curnm
