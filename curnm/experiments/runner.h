#pragma once

#include <span>

#include "curnm/experiments/store.h"

namespace curnm {

/// A run of the store and how it is to be done.
struct Assignment {
  std::int64_t run = 0;  // id
  Job job;
  std::string data;              // as `curnm train` takes it
  std::string digest = {};       // of that data; "" where it is not known
  std::string missing = {};      // why there is no data; then the run has to wait
  std::int64_t until_epoch = 0;  // pause there; 0: to its end
  /// It failed before and is to be tried again: if it cannot go on from where it was, it begins
  /// again.
  bool retry = false;
};

/// The exit code of a program that cannot use what the folder of its run holds (UnusableRun).
inline constexpr int kUnusableRun = 3;
/// The exit code of a program that found the disk full (DiskFull).
inline constexpr int kDiskIsFull = 4;

struct RunnerOptions {
  std::filesystem::path program;  // curnm
  std::filesystem::path folder;   // of the run folders and their logs
  std::int64_t workers = 1;
  std::int64_t threads = 1;  // of each worker
};

/// What a person sees while it goes on.
class RunnerObserver {
 public:
  virtual ~RunnerObserver() = default;
  virtual void on_start(const Assignment&) {}
  virtual void on_end(const Assignment&, const RunResult&) {}
  /// What was there could not be continued, for that reason, and is thrown away.
  virtual void on_restart(const Assignment&, const std::string& /*reason*/) {}
  /// Another process has it, or has done it meanwhile.
  virtual void on_elsewhere(const Assignment&) {}
  /// A few times per second, with the epochs that the runs in progress have behind them.
  virtual void on_tick(std::span<const std::int64_t> /*epochs*/) {}
  /// True: stop the runs in progress where they are; they can be continued.
  virtual bool stop_requested() { return false; }
};

struct RunnerOutcome {
  std::int64_t done = 0;       // by this call
  std::int64_t failed = 0;     // by this call
  std::int64_t missing = 0;    // for want of data
  std::int64_t elsewhere = 0;  // another process had them
  bool stopped = false;
  bool disk_full = false;  // then it was stopped, too
};

/// Does the assignments, each in a process of its own, and records their results. Runs that were
/// begun before are continued, and results that lie in their folder are recorded without running,
/// unless they are of other data. A program that outlived its runner is waited for. What is done,
/// failed, or in the hands of another process is left alone. When the disk is full all of it stops:
/// every other run would fail as well.
RunnerOutcome run_assignments(ResultStore& store, std::span<const Assignment> assignments,
                              const RunnerOptions& options, RunnerObserver& observer);

}  // namespace curnm
