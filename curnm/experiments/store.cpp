#include "curnm/experiments/store.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <unordered_map>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/base/json.h"
#include "curnm/base/names.h"
#include "curnm/experiments/owner.h"
#include "curnm/experiments/sqlite.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using sqlite::Statement;
using sqlite::Transaction;

constexpr std::int64_t kSchemaVersion = 2;
constexpr std::int64_t kApplicationId = 0x63756e6d;  // "cunm"

// docs/store.md explains the columns.
constexpr const char* kSchema = R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  network TEXT NOT NULL,
  model TEXT NOT NULL,
  miner TEXT NOT NULL,
  seed INTEGER NOT NULL,
  flags TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'paused', 'done', 'failed')),
  owner TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  folder TEXT NOT NULL DEFAULT '',
  version TEXT NOT NULL DEFAULT '',
  data_digest TEXT NOT NULL DEFAULT '',
  epochs INTEGER NOT NULL DEFAULT 0,
  best_epoch INTEGER NOT NULL DEFAULT -1,
  seconds_per_epoch REAL,
  training_events INTEGER NOT NULL DEFAULT 0,
  environment INTEGER REFERENCES environments,
  changed TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')));
CREATE TABLE experiments (
  name TEXT PRIMARY KEY,
  title TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (
  experiment TEXT NOT NULL,
  position INTEGER NOT NULL,
  variant TEXT NOT NULL,
  run INTEGER NOT NULL REFERENCES runs,
  PRIMARY KEY (experiment, position)) WITHOUT ROWID;
CREATE TABLE options (
  run INTEGER NOT NULL REFERENCES runs,
  part TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, part, name)) WITHOUT ROWID;
CREATE TABLE epochs (
  run INTEGER NOT NULL REFERENCES runs,
  epoch INTEGER NOT NULL,
  validation_ap REAL,
  seconds REAL,
  metrics TEXT NOT NULL,
  PRIMARY KEY (run, epoch));
CREATE TABLE scores (
  run INTEGER NOT NULL REFERENCES runs,
  events TEXT NOT NULL,
  protocol TEXT NOT NULL,
  metric TEXT NOT NULL,
  value REAL,
  PRIMARY KEY (run, events, protocol, metric)) WITHOUT ROWID;
CREATE TABLE baselines (
  run INTEGER NOT NULL REFERENCES runs,
  events TEXT NOT NULL,
  protocol TEXT NOT NULL,
  name TEXT NOT NULL,
  ap REAL,
  PRIMARY KEY (run, events, protocol)) WITHOUT ROWID;
CREATE TABLE environments (
  id INTEGER PRIMARY KEY,
  cpu TEXT NOT NULL,
  cores INTEGER NOT NULL,
  threads INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  system TEXT NOT NULL,
  libraries TEXT NOT NULL,
  UNIQUE (cpu, cores, threads, memory_bytes, system, libraries));
CREATE TABLE trials (
  study TEXT NOT NULL,
  trial INTEGER NOT NULL,
  run INTEGER NOT NULL REFERENCES runs,
  rung INTEGER NOT NULL,
  score REAL,
  PRIMARY KEY (study, trial)) WITHOUT ROWID;
)sql";

bool admits(const std::vector<std::string>& wanted, std::string_view name) {
  return wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
}

/// A run whose process was killed counts as waiting.
RunState state_of(std::string_view recorded, std::string_view owner) {
  const RunState state = find_state(recorded);
  return state == RunState::kRunning && !still_runs(owner) ? RunState::kWaiting : state;
}

/// Reads what the filter admits, table by table.
class Loader {
 public:
  Loader(sqlite::Database& database, const ResultFilter& filter)
      : database_(database), filter_(filter) {}

  ResultSet load() {
    // A read transaction sees one state of the store, without later commits; it needs no commit
    // itself.
    const Transaction transaction(database_, "BEGIN");
    load_runs();
    for_each("SELECT run, part, name, value FROM options", [](RunResult& run, Statement& row) {
      run.options[row.string(1)][row.string(2)] = parse_json(row.text(3));
    });
    for_each("SELECT run, events, protocol, metric, value FROM scores",
             [](RunResult& run, Statement& row) {
               run.scores.push_back({row.string(1), row.string(2), row.string(3), row.real(4)});
             });
    for_each("SELECT run, events, protocol, name, ap FROM baselines",
             [](RunResult& run, Statement& row) {
               run.baselines.push_back({row.string(1), row.string(2), row.string(3), row.real(4)});
             });
    if (filter_.curves) {
      for_each("SELECT run, epoch, validation_ap, seconds, metrics FROM epochs ORDER BY run, epoch",
               [](RunResult& run, Statement& row) {
                 run.curve.push_back({.epoch = row.integer(1),
                                      .validation_ap = row.real(2),
                                      .seconds = row.real(3),
                                      .metrics = row.string(4),
                                      .validation_mrr = mrr_in(run, row.text(4))});
               });
    }
    load_cells();
    return std::move(results_);
  }

 private:
  /// It is among the other metrics; these are parsed only for runs that have it.
  static double mrr_in(const RunResult& run, std::string_view metrics) {
    if (validation_figure(run) != ValidationFigure::kMrr) return kNoValue;
    return nlohmann::json::parse(metrics).value("validation_mrr", kNoValue);
  }

  void load_runs() {
    std::set<std::int64_t> of_experiments;
    Statement cell(database_, "SELECT run, experiment FROM cells");
    while (cell.next()) {
      if (admits(filter_.experiments, cell.text(1))) of_experiments.insert(cell.integer(0));
    }
    Statement row(database_,
                  "SELECT runs.id, network, model, miner, seed, flags, state, reason, folder, "
                  "version, data_digest, epochs, best_epoch, seconds_per_epoch, training_events, "
                  "cpu, cores, threads, memory_bytes, system, libraries, owner "
                  "FROM runs LEFT JOIN environments ON environments.id = runs.environment "
                  "ORDER BY runs.id");
    while (row.next()) {
      RunResult run = run_of(row);
      if (!filter_.experiments.empty() && !of_experiments.contains(run.id)) continue;
      if (!admits(filter_.networks, run.network) || !admits(filter_.models, run.model) ||
          !admits(filter_.miners, run.miner) || (filter_.state && *filter_.state != run.state)) {
        continue;
      }
      index_[run.id] = results_.runs.size();
      results_.runs.push_back(std::move(run));
    }
  }

  static nlohmann::json flags_of(std::string_view text) {
    nlohmann::json flags = parse_json(text);
    if (!flags.is_object()) throw BadJson("the flags of a run are no object");
    return flags;
  }

  static RunResult run_of(const Statement& row) {
    return {.id = row.integer(0),
            .network = row.string(1),
            .model = row.string(2),
            .miner = row.string(3),
            .seed = row.integer(4),
            .flags = flags_of(row.text(5)),
            .state = state_of(row.text(6), row.text(21)),
            .reason = row.string(7),
            .folder = row.string(8),
            .version = row.string(9),
            .data_digest = row.string(10),
            .options = {},
            .environment = {row.string(15), row.integer(16), row.integer(17), row.integer(18),
                            row.string(19), row.string(20)},
            .epochs = row.integer(11),
            .best_epoch = row.integer(12),
            .seconds_per_epoch = row.real(13),
            .training_events = row.integer(14),
            .scores = {},
            .baselines = {},
            .curve = {}};
  }

  /// Rows come in the order of the tables' primary keys.
  template <class Visit>
  void for_each(const char* sql, Visit visit) {
    Statement row(database_, sql);
    while (row.next()) {
      const auto found = index_.find(row.integer(0));
      if (found != index_.end()) visit(results_.runs[found->second], row);
    }
  }

  void load_cells() {
    Statement cell(database_,
                   "SELECT run, experiment, variant FROM cells ORDER BY experiment, position");
    while (cell.next()) {
      const auto found = index_.find(cell.integer(0));
      if (found == index_.end() || !admits(filter_.experiments, cell.text(1))) continue;
      results_.cells.push_back({cell.string(1), cell.string(2), found->second});
    }
    Statement experiment(database_, "SELECT name, title FROM experiments");
    while (experiment.next()) results_.titles[experiment.string(0)] = experiment.string(1);
  }

  sqlite::Database& database_;
  const ResultFilter& filter_;
  ResultSet results_;
  std::unordered_map<std::int64_t, std::size_t> index_;  // id -> position in results_.runs
};

}  // namespace

class ResultStore::Database : public sqlite::Database {
 public:
  Database(const fs::path& file, Mode mode)
      : sqlite::Database(file, mode == Mode::kRead ? SQLITE_OPEN_READONLY
                                                   : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) {
    if (mode == Mode::kWrite && pragma("user_version") == 0) create(file);
    if (pragma("application_id") != kApplicationId) {
      fail("{} is a database, but not a store of results", file.string());
    }
    const std::int64_t version = pragma("user_version");
    if (version > kSchemaVersion) {
      fail("{} was written by a newer curnm (schema {}, this one knows {})", file.string(), version,
           kSchemaVersion);
    }
    if (mode == Mode::kRead) return;
    if (version < kSchemaVersion) {
      fail(
          "{} was written by an older curnm (schema {}), which told runs apart by their flags, not "
          "by what they mean: it can be read, but new runs need a new store",
          file.string(), version);
    }
    // Readers and a writer do not block each other, and a power cut loses no finished run.
    execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    set_journal(file, sqlite::journal_for(sqlite::file_system_of(file)));
  }

  /// Throws Error where another mode is in use and cannot be left now.
  void set_journal(const fs::path& file, std::string_view mode) {
    Statement statement(*this, fmt::format("PRAGMA journal_mode = {}", mode));
    statement.next();
    std::string used = statement.string(0);
    std::ranges::transform(used, used.begin(), [](unsigned char c) { return std::toupper(c); });
    if (used == mode || mode == "WAL") return;  // a rollback journal is safe everywhere
    fail(
        "{} is on a network file system and in use by a program that does not know it ({} instead "
        "of {}): end that first, or choose a --store on a local disk",
        file.string(), used, mode);
  }

  std::int64_t pragma(const char* name) {
    Statement statement(*this, fmt::format("PRAGMA {}", name));
    statement.next();
    return statement.integer(0);
  }

  std::vector<std::string> names(const char* sql) {
    std::vector<std::string> all;
    Statement row(*this, sql);
    while (row.next()) all.push_back(row.string(0));
    return all;
  }

  std::optional<std::int64_t> find(const Job& job) {
    Statement by_key(*this, "SELECT id FROM runs WHERE key = ?");
    return by_key(job.key()).next() ? std::optional(by_key.integer(0)) : std::nullopt;
  }

  std::int64_t find_or_add(const Job& job) {
    if (const std::optional<std::int64_t> found = find(job)) return *found;
    Statement insert(*this,
                     "INSERT INTO runs (key, network, model, miner, seed, flags, state) "
                     "VALUES (?, ?, ?, ?, ?, ?, 'waiting')");
    insert(job.key(), job.network, job.model, job.miner, job.seed, nlohmann::json(job.flags).dump())
        .run();
    return last_id();
  }

  void set_state(std::int64_t run, RunState state, std::string_view owner,
                 std::string_view reason) {
    Statement update(*this,
                     "UPDATE runs SET state = ?, owner = ?, reason = ?, "
                     "changed = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = ?");
    update(state_name(state), owner, reason, run).run();
  }

 private:
  void create(const fs::path& file) {
    Transaction transaction(*this);
    if (pragma("user_version") != 0) return;  // another process was faster
    Statement tables(*this, "SELECT count(*) FROM sqlite_schema");
    tables.next();
    if (tables.integer(0) != 0) {
      fail("{} is a database, but not a store of results", file.string());
    }
    execute(kSchema);
    execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId,
                        kSchemaVersion)
                .c_str());
    transaction.commit();
  }
};

ResultStore::ResultStore(const fs::path& file, Mode mode) {
  if (mode == Mode::kRead && !fs::exists(file)) fail("there is no store {}", file.string());
  if (fs::is_directory(file)) fail("{} is a folder, not a store of results", file.string());
  if (mode == Mode::kWrite && file.has_parent_path()) create_folders(file.parent_path());
  database_ = std::make_unique<Database>(file, mode);
}

ResultStore::~ResultStore() = default;
ResultStore::ResultStore(ResultStore&&) noexcept = default;

std::vector<std::int64_t> ResultStore::plan(const Experiment& experiment) {
  Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM cells WHERE experiment = ?")(experiment.name).run();
  Statement(*database_, "INSERT OR REPLACE INTO experiments (name, title) VALUES (?, ?)")(
      experiment.name, experiment.title)
      .run();
  Statement insert(*database_,
                   "INSERT INTO cells (experiment, position, variant, run) VALUES (?, ?, ?, ?)");
  std::vector<std::int64_t> runs;
  for (const Job& job : experiment.jobs) {
    runs.push_back(database_->find_or_add(job));
    insert(experiment.name, std::ssize(runs) - 1, job.variant, runs.back()).run();
  }
  transaction.commit();
  return runs;
}

std::optional<std::int64_t> ResultStore::find(const Job& job) const { return database_->find(job); }

std::int64_t ResultStore::add(const Job& job) {
  Transaction transaction(*database_);
  const std::int64_t run = database_->find_or_add(job);
  transaction.commit();
  return run;
}

bool ResultStore::claim(std::int64_t run, bool retry) {
  Transaction transaction(*database_);
  Statement find(*database_, "SELECT state, owner FROM runs WHERE id = ?");
  CURNM_ASSERT(find(run).next());
  const RunState state = state_of(find.text(0), find.text(1));
  const bool free = state == RunState::kWaiting || state == RunState::kPaused ||
                    (retry && state == RunState::kFailed);
  if (!free) return false;
  database_->set_state(run, RunState::kRunning, this_process(), "");
  transaction.commit();
  return true;
}

void ResultStore::release(std::int64_t run, const std::string& reason) {
  database_->set_state(run, RunState::kWaiting, "", reason);
}

void ResultStore::fail_run(std::int64_t run, const std::string& reason) {
  database_->set_state(run, RunState::kFailed, "", reason);
}

void ResultStore::record(std::int64_t run, const RunResult& result) {
  sqlite::Database& database = *database_;
  Transaction transaction(database);
  for (const char* table : {"options", "epochs", "scores", "baselines"}) {
    Statement(database, fmt::format("DELETE FROM {} WHERE run = ?", table))(run).run();
  }
  const Environment& at = result.environment;
  Statement(database,
            "INSERT OR IGNORE INTO environments (cpu, cores, threads, memory_bytes, system, "
            "libraries) VALUES (?, ?, ?, ?, ?, ?)")(at.cpu, at.cores, at.threads, at.memory_bytes,
                                                    at.system, at.libraries)
      .run();
  Statement(database,
            "UPDATE runs SET folder = ?, version = ?, data_digest = ?, epochs = ?, best_epoch = ?, "
            "seconds_per_epoch = ?, training_events = ?, environment = (SELECT id FROM "
            "environments WHERE cpu = ? AND cores = ? AND threads = ? AND memory_bytes = ? AND "
            "system = ? AND libraries = ?) WHERE id = ?")(
      result.folder, result.version, result.data_digest, result.epochs, result.best_epoch,
      result.seconds_per_epoch, result.training_events, at.cpu, at.cores, at.threads,
      at.memory_bytes, at.system, at.libraries, run)
      .run();
  Statement option(database, "INSERT INTO options (run, part, name, value) VALUES (?, ?, ?, ?)");
  for (const auto& [part, options] : result.options.items()) {
    for (const auto& [name, value] : options.items()) {
      option(run, part, name, value.dump()).run();
    }
  }
  Statement epoch(database,
                  "INSERT INTO epochs (run, epoch, validation_ap, seconds, metrics) "
                  "VALUES (?, ?, ?, ?, ?)");
  for (const EpochMetrics& of : result.curve) {
    epoch(run, of.epoch, of.validation_ap, of.seconds, of.metrics).run();
  }
  Statement score(
      database, "INSERT INTO scores (run, events, protocol, metric, value) VALUES (?, ?, ?, ?, ?)");
  for (const Score& of : result.scores) {
    score(run, of.set, of.protocol, of.metric, of.value).run();
  }
  Statement baseline(database,
                     "INSERT INTO baselines (run, events, protocol, name, ap) "
                     "VALUES (?, ?, ?, ?, ?)");
  for (const BaselineScore& of : result.baselines) {
    baseline(run, of.set, of.protocol, of.name, of.value).run();
  }
  database_->set_state(run, result.state, "", result.reason);
  transaction.commit();
}

RunState ResultStore::state(std::int64_t run) const {
  Statement find(*database_, "SELECT state, owner FROM runs WHERE id = ?");
  CURNM_ASSERT(find(run).next());
  return state_of(find.text(0), find.text(1));
}

std::vector<std::string> ResultStore::experiments() const {
  return database_->names("SELECT name FROM experiments ORDER BY name");
}

std::vector<std::string> ResultStore::networks() const {
  return database_->names("SELECT DISTINCT network FROM runs ORDER BY network");
}

std::string ResultStore::title(const std::string& experiment) const {
  Statement find(*database_, "SELECT title FROM experiments WHERE name = ?");
  return find(experiment).next() ? find.string(0) : "";
}

ResultSet ResultStore::load(const ResultFilter& filter) const {
  try {
    return Loader(*database_, filter).load();
  } catch (const nlohmann::json::exception& error) {
    database_->raise_damaged(json_reason(error));
  } catch (const BadJson& error) {
    database_->raise_damaged(error.what());
  }
}

void ResultStore::save_trials(const std::string& study, std::span<const Trial> trials) {
  Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM trials WHERE study = ?")(study).run();
  Statement insert(*database_,
                   "INSERT INTO trials (study, trial, run, rung, score) VALUES (?, ?, ?, ?, ?)");
  for (const Trial& trial : trials) {
    insert(study, trial.number, trial.run, trial.rung, trial.score).run();
  }
  transaction.commit();
}

}  // namespace curnm
