#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "curnm/experiments/experiment_file.h"
#include "curnm/experiments/result_set.h"

namespace curnm {

/// Which runs to load; an empty list admits all.
struct ResultFilter {
  std::vector<std::string> experiments = {};
  std::vector<std::string> networks = {};
  std::vector<std::string> models = {};
  std::vector<std::string> miners = {};
  std::optional<RunState> state = {};
  bool curves = true;  // with the epochs
};

/// A trial of a study, and how far it has got.
struct Trial {
  std::int64_t number = 0;
  std::int64_t run = 0;   // id
  std::int64_t rung = 0;  // the last one that it was promoted to
  double score = kNoValue;
};

/// Results in one SQLite file (docs/store.md has the schema). Any number of processes may write to
/// it at once; each change is one transaction. All functions throw Error with the file's name and
/// SQLite's reason: locked for too long, damaged, full disk.
class ResultStore {
 public:
  enum class Mode { kWrite, kRead };

  /// For writing, creates the store if there is none. Throws Error for a file that is not a store
  /// or was written by a newer program; for writing, also by an older one.
  explicit ResultStore(const std::filesystem::path& file, Mode mode = Mode::kWrite);
  ~ResultStore();
  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) = delete;

  /// Enters the cells of an experiment and any new runs. Cells that the experiment no longer has
  /// are dropped; runs never are. Returns the ids of the runs, in the order of the jobs.
  std::vector<std::int64_t> plan(const Experiment& experiment);
  /// The id of the job's run, if there is one.
  std::optional<std::int64_t> find(const Job& job) const;
  /// The id of the job's run, which is entered if it is new.
  std::int64_t add(const Job& job);

  /// Claims a run that is waiting, paused, or owned by a process that no longer exists; with
  /// `retry` also one that failed. False if another process owns it, or it has ended.
  bool claim(std::int64_t run, bool retry = false);
  /// Sets a run back to waiting; `reason` says what for.
  void release(std::int64_t run, const std::string& reason);
  void fail_run(std::int64_t run, const std::string& reason);
  /// Replaces what is stored about the run by the contents of its folder.
  void record(std::int64_t run, const RunResult& result);

  RunState state(std::int64_t run) const;
  /// The names of all experiments.
  std::vector<std::string> experiments() const;
  std::vector<std::string> networks() const;
  /// The title of an experiment; "" if there is none of that name.
  std::string title(const std::string& experiment) const;
  ResultSet load(const ResultFilter& filter = {}) const;

  void save_trials(const std::string& study, std::span<const Trial> trials);

 private:
  class Database;
  std::unique_ptr<Database> database_;
};

}  // namespace curnm
