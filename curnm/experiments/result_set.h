#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// What experiments leave behind, in memory: the store reads and writes it, tables and reports are
// pure functions of it.

namespace curnm {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

enum class RunState { kWaiting, kRunning, kPaused, kDone, kFailed };
std::string_view state_name(RunState state);
/// Throws UsageError for an unknown name.
RunState find_state(std::string_view name);

/// The name under which the ranking of a test is recorded where others have a protocol. Its metrics
/// are "mrr", "hits10" and the number of "candidates".
inline constexpr std::string_view kRankingScores = "mrr";

/// A figure of the test: set "test" or "test_new", metric "ap", "auc", "ap_global" or "auc_global"
/// of a protocol, or one of the ranking.
struct Score {
  std::string set;
  std::string protocol;
  std::string metric;
  double value = kNoValue;
};

/// The best rule without learning under a protocol, or in the ranking, on the events of a set.
struct BaselineScore {
  std::string set;
  std::string protocol;
  std::string name;
  double value = kNoValue;  // AP of a protocol, MRR of the ranking
};

/// One epoch: the numbers of its line in metrics.jsonl by flat names (`mining.pi`,
/// `losses.random`).
struct EpochMetrics {
  std::int64_t epoch = 0;
  double validation_ap = kNoValue;
  double seconds = kNoValue;
  std::string metrics;               // JSON, parsed only when drawn: {"mining.pi": 0.7, ...}
  double validation_mrr = kNoValue;  // of runs that choose their best epoch by it
};

/// The machine that a run was made on.
struct Environment {
  std::string cpu;
  std::int64_t cores = 0;
  std::int64_t threads = 0;
  std::int64_t memory_bytes = 0;
  std::string system;
  std::string libraries;
};
nlohmann::ordered_json to_json(const Environment& environment);
Environment environment_from_json(const nlohmann::ordered_json& json);

struct RunResult {
  std::int64_t id = 0;  // in the store
  std::string network;
  std::string model;
  std::string miner;
  std::int64_t seed = 0;
  /// Its flags besides the four above, sorted: {"epochs": "60"}.
  nlohmann::json flags = nlohmann::json::object();
  RunState state = RunState::kWaiting;
  std::string reason;  // of a failure
  std::string folder;
  std::string version;
  std::string data_digest;
  nlohmann::ordered_json options;  // all of them, as in options.json: train, model, miner, task
  Environment environment;
  std::int64_t epochs = 0;
  std::int64_t best_epoch = -1;
  double seconds_per_epoch = kNoValue;  // of training, without validation
  std::int64_t training_events = 0;     // 0: unknown
  std::vector<Score> scores;
  std::vector<BaselineScore> baselines;
  std::vector<EpochMetrics> curve;
};

/// A place in the grid of an experiment, filled by a run; several may share one run.
struct Cell {
  std::string experiment;
  std::string variant;  // "" if the grid has none
  std::size_t run = 0;  // index into ResultSet::runs
};

struct ResultSet {
  std::vector<RunResult> runs;
  std::vector<Cell> cells;                         // in the order of their experiments' files
  std::map<std::string, std::string> titles = {};  // of experiments, where they have one
};

/// Calls networks that experiments name by a path by its last part alone: "data/uci" is "uci".
/// Paths that would get the name of another network stay as they are.
void shorten_networks(ResultSet& results);

/// The flags of a run besides network, model, miner and seed: "epochs 60, pool 16".
std::string options_text(const RunResult& run);

/// The same as JSON for other programs: {"epochs": 60}. They are stored as they were written, as
/// texts; here numbers are numbers, and true and false are those.
nlohmann::ordered_json flags_json(const nlohmann::json& flags);

/// A figure of validation.
enum class ValidationFigure { kAp, kMrr };
std::string_view figure_name(ValidationFigure figure);  // "AP", "MRR"
double value_of(const EpochMetrics& epoch, ValidationFigure figure);
/// What a run's best epoch is chosen by.
ValidationFigure validation_figure(const RunResult& run);

/// The best of a run's first epochs; NaN without any.
double best_validation(const RunResult& run, std::int64_t epochs, ValidationFigure figure);

/// The score of a run, or NaN.
double find_score(const RunResult& run, std::string_view set, std::string_view protocol,
                  std::string_view metric);

}  // namespace curnm
