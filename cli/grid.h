#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <string>

#include "cli/print.h"
#include "curnm/experiments/runner.h"

// What `experiment` and `tune` share: where things are, how many runs at once, and what a person
// sees of them.

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

/// The runs of the experiment's cells. What it was before under the same name stays in the store,
/// but not in its tables.
std::vector<std::int64_t> planned(ResultStore& store, const Experiment& experiment);

/// "40 s", "4 min", "2 h 10 min", "3 days 5 h".
std::string time_span(double seconds);

/// Prints each run as it ends and, where a person is watching, how far all of them are.
class GridProgress final : public RunnerObserver {
 public:
  /// `estimates`: seconds by run, if done one after the other.
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
  std::map<std::int64_t, Stopwatch> started_;  // others had their result already
  std::int64_t ended_ = 0;                     // of those that were started
  double ended_estimate_ = 0;                  // of these
  double ended_seconds_ = 0;                   // what these took
  bool on_terminal_;
};

/// 0 where all is done, 128 + signal where it was stopped, else 1; says what is missing. REQUIRES:
/// the outcome counts what failed before, too.
int report_outcome(const RunnerOutcome& outcome, const GridFlags& flags);

}  // namespace curnm::cli
