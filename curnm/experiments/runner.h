#pragma once

#include <span>

#include "curnm/experiments/store.h"

namespace curnm {

/// A run of the store and how to perform it.
struct Assignment {
  std::int64_t run = 0;  // id
  Job job;
  std::string data;              // as `curnm train` takes it
  std::string digest = {};       // of that data; "" if unknown
  std::string missing = {};      // why there is no data; the run then has to wait
  std::int64_t until_epoch = 0;  // pause there; 0: to its end
  /// It failed before and is retried: it restarts if it cannot be continued.
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

/// Receives progress while runs are performed.
class RunnerObserver {
 public:
  virtual ~RunnerObserver() = default;
  virtual void on_start(const Assignment&) {}
  virtual void on_end(const Assignment&, const RunResult&) {}
  /// The existing run could not be continued, for that reason, and is discarded.
  virtual void on_restart(const Assignment&, const std::string& /*reason*/) {}
  /// Another process is running it, or has finished it meanwhile.
  virtual void on_elsewhere(const Assignment&) {}
  /// A few times per second, with the completed epochs of each run in progress.
  virtual void on_tick(std::span<const std::int64_t> /*epochs*/) {}
  /// True: stop the runs in progress; they can be resumed.
  virtual bool stop_requested() { return false; }
};

struct RunnerOutcome {
  std::int64_t done = 0;       // by this call
  std::int64_t failed = 0;     // by this call
  std::int64_t missing = 0;    // for want of data
  std::int64_t elsewhere = 0;  // run by another process
  bool stopped = false;
  bool disk_full = false;  // `stopped` is then true, too
};

/// Performs the assignments, each in its own process, and records their results. Unfinished runs
/// are continued; results already in their folders are recorded without running, unless they come
/// from other data. Waits for programs that outlived their runner. Runs that are done, failed, or
/// owned by another process are left alone. A full disk stops everything: every other run would
/// fail as well.
RunnerOutcome run_assignments(ResultStore& store, std::span<const Assignment> assignments,
                              const RunnerOptions& options, RunnerObserver& observer);

}  // namespace curnm
