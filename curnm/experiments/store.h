#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "curnm/experiments/experiment_file.h"
#include "curnm/experiments/result_set.h"

namespace curnm {

/// Which runs to load; what is empty admits all.
struct ResultFilter {
  std::vector<std::string> experiments = {};
  std::vector<std::string> networks = {};
  std::vector<std::string> models = {};
  std::vector<std::string> miners = {};
  std::optional<RunState> state = {};
  bool curves = true;  // with the epochs
};

/// A trial of a study: options that are tried, and how far.
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

  /// For writing, the store is made where there is none. Throws Error for a file that is no store,
  /// or one of a newer program, and for writing also of an older one.
  explicit ResultStore(const std::filesystem::path& file, Mode mode = Mode::kWrite);
  ~ResultStore();
  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) = delete;

  /// Enters the cells of an experiment, and the runs that are not there yet. Cells that the
  /// experiment had before and has no longer are dropped; runs never are. The ids of the runs, in
  /// the order of the jobs.
  std::vector<std::int64_t> plan(const Experiment& experiment);
  /// The id of the job's run, where there is one.
  std::optional<std::int64_t> find(const Job& job) const;
  /// The id of the job's run, which is entered where it is not there yet.
  std::int64_t add(const Job& job);

  /// Takes a run that waits, is paused, or belongs to a process that is gone; with `retry` also one
  /// that failed. False where another one has it, or it is over.
  bool claim(std::int64_t run, bool retry = false);
  /// Back to waiting; the reason says what for.
  void release(std::int64_t run, const std::string& reason);
  void fail_run(std::int64_t run, const std::string& reason);
  /// Replaces what is known of the run by what its folder tells.
  void record(std::int64_t run, const RunResult& result);

  RunState state(std::int64_t run) const;
  /// The names of all of them.
  std::vector<std::string> experiments() const;
  std::vector<std::string> networks() const;
  /// The title of an experiment; "" where there is none of that name.
  std::string title(const std::string& experiment) const;
  ResultSet load(const ResultFilter& filter = {}) const;

  void save_trials(const std::string& study, std::span<const Trial> trials);

 private:
  class Database;
  std::unique_ptr<Database> database_;
};

}  // namespace curnm
