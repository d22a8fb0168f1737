#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <string>

#include "cli/print.h"
#include "curnm/experiments/runner.h"

// What `experiment` and `tune` share: where files are, how many runs at once, and how progress is
// shown.

namespace curnm::cli {

struct GridFlags {
  std::string store = "results/results.db";
  std::string data_folder = "data";
  std::int64_t workers = 0;
  std::int64_t threads = 1;
  bool retry_failed = false;
};
void add_grid_flags(CLI::App& command, GridFlags& flags);

/// Throws UsageError for counts that make no sense.
RunnerOptions runner_options(const GridFlags& flags);

/// Does the store have an experiment of that name that shares no run with this one?
bool name_is_taken(const ResultStore& store, const Experiment& experiment);

/// The runs of the experiment's cells. Runs that an earlier version of it had stay in the store,
/// but not in its tables.
std::vector<std::int64_t> planned(ResultStore& store, const Experiment& experiment);

/// "40 s", "4 min", "2 h 10 min", "3 days 5 h".
std::string time_span(double seconds);

/// Prints each run as it ends and, on a terminal, the progress of all.
class GridProgress final : public RunnerObserver {
 public:
  /// `estimates`: seconds of each run, run one at a time.
  GridProgress(std::map<std::int64_t, double> estimates, std::int64_t workers);

  void on_start(const Assignment& assignment) override;
  void on_end(const Assignment& assignment, const RunResult& result) override;
  void on_restart(const Assignment& assignment, const std::string& reason) override;
  void on_elsewhere(const Assignment& assignment) override;
  void on_tick(std::span<const std::int64_t> epochs) override;
  bool stop_requested() override;

 private:
  double seconds_left() const;

  std::map<std::int64_t, double> waiting_;  // estimates of the runs that have not ended
  std::size_t count_;
  std::int64_t workers_;
  std::map<std::int64_t, Stopwatch> started_;  // missing for runs that already had a result
  std::int64_t ended_ = 0;                     // runs that were started and have ended
  double ended_estimate_ = 0;                  // their estimated seconds in total
  double ended_seconds_ = 0;                   // their actual seconds in total
  bool on_terminal_;
};

/// Prints what is missing. Returns 0 if all is done, 128 + signal if stopped, else 1. REQUIRES: the
/// outcome includes earlier failures.
int report_outcome(const RunnerOutcome& outcome, const GridFlags& flags);

}  // namespace curnm::cli
