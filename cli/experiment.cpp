#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/grid.h"
#include "cli/jobs.h"
#include "cli/networks.h"
#include "cli/signals.h"
#include "curnm/base/names.h"
#include "curnm/base/printable.h"
#include "curnm/experiments/estimate.h"
#include "curnm/miners/registry.h"
#include "curnm/models/registry.h"

namespace curnm::cli {
namespace {

struct ExperimentFlags {
  std::string file;
  GridFlags grid;
  bool plan = false;
};

/// A grid for display: networks, models and variants as rows, miners as columns.
class Plan {
 public:
  void add(const Job& job, RunState state) {
    const std::string row = fmt::format("{:<17} {:<6} {}", job.network, job.model, job.variant);
    if (known_.insert("row " + row).second) rows_.push_back(row);
    if (known_.insert("column " + job.miner).second) columns_.push_back(job.miner);
    Count& count = counts_[{row, job.miner}];
    ++count.all;
    count.done += state == RunState::kDone;
    count.failed += state == RunState::kFailed;
  }

  std::string table() const {
    std::size_t width = 0;
    for (const std::string& row : rows_) width = std::max(width, row.size());
    std::string lines = fmt::format("{:<{}}", "", width);
    for (const std::string& column : columns_) lines += fmt::format("{:>10}", column);
    for (const std::string& row : rows_) {
      lines += fmt::format("\n{:<{}}", row, width);
      for (const std::string& column : columns_) lines += fmt::format("{:>10}", text(row, column));
    }
    return lines + "\n";
  }

 private:
  struct Count {
    int all = 0, done = 0, failed = 0;
  };

  /// Finished out of all, and how many failed: "1/3", "1/3 2!".
  std::string text(const std::string& row, const std::string& column) const {
    const auto found = counts_.find({row, column});
    if (found == counts_.end()) return "";
    const Count& count = found->second;
    return fmt::format("{}/{}{}", count.done, count.all,
                       count.failed > 0 ? fmt::format(" {}!", count.failed) : "");
  }

  std::set<std::string> known_;       // rows and columns
  std::vector<std::string> rows_;     // in the order of the file
  std::vector<std::string> columns_;  // likewise
  std::map<std::pair<std::string, std::string>, Count> counts_;
};

Vocabulary vocabulary(const std::string& data_folder) {
  static const std::vector<std::string> options = job_options();
  static const std::vector<std::string> read_options = job_read_options();
  return {.models = models().names(),
          .miners = miners().names(),
          .flags = {options.begin(), options.end()},
          .read_flags = {read_options.begin(), read_options.end()},
          .resolve = [data_folder](Job& job, const RunFlags& own) {
            job.network = network_name(job.network, data_folder);
            resolve_job(job, own);
          }};
}

/// The networks of an experiment, each looked up on first use: those of runs that have ended may be
/// gone.
class Networks {
 public:
  Networks(std::filesystem::path folder, bool fetch) : folder_(std::move(folder)), fetch_(fetch) {}

  /// The network of a job. Those of one name are all read alike.
  const NamedNetwork& of(const Job& job, const ResultSet& known) {
    const std::string& name = job.network;
    const auto found = networks_.find(name);
    if (found != networks_.end()) return found->second;
    const NamedNetwork& network = networks_[name] =
        find_named_network(name, folder_, fetch_, read_options_of(job));
    if (!network.missing.empty()) {
      say("warning: {}\n", printable(network.missing));
      ++missing_;
    }
    refuse_other_data(name, network, known);
    return network;
  }

  /// Networks that runs need and that cannot be had.
  int missing() const { return missing_; }

  /// For runs that have ended: checks only that the data, if present, is still the same.
  void check(const Job& job, const ResultSet& known) {
    const std::string& name = job.network;
    if (networks_.contains(name) || !checked_.insert(name).second) return;
    refuse_other_data(
        name, find_named_network(name, folder_, /*fetch=*/false, read_options_of(job)), known);
  }

 private:
  std::filesystem::path folder_;
  bool fetch_;
  int missing_ = 0;
  std::map<std::string, NamedNetwork> networks_;
  std::set<std::string> checked_;
};

bool has_ended(RunState state) { return state == RunState::kDone || state == RunState::kFailed; }

/// The work that a grid still needs.
struct Work {
  Plan plan;
  std::vector<std::size_t> jobs;  // those to do, as indices into the experiment
  std::vector<double> seconds;    // estimate for each
};

/// `states` are those of the jobs. Cells that share a run count once.
Work remaining_work(const Experiment& experiment, const std::vector<RunState>& states,
                    Networks& networks, const ResultSet& known) {
  Work work;
  const Estimates estimates(known);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Job& job = experiment.jobs[i];
    work.plan.add(job, states[i]);
    if (!seen.insert(job.key()).second) continue;
    if (has_ended(states[i])) {
      networks.check(job, known);
      continue;
    }
    work.jobs.push_back(i);
    work.seconds.push_back(estimates.seconds(job, networks.of(job, known).events, job.epochs));
  }
  return work;
}

std::string describe_work(const Work& work, const RunnerOptions& options) {
  if (work.jobs.empty()) return work.plan.table() + "nothing is left to run\n";
  const double seconds = side_by_side(work.seconds, options.workers);
  const bool all_known = std::ranges::find(work.seconds, 0) == work.seconds.end();
  return fmt::format("{}{} runs to do, {} at a time with {} thread(s) each: {}\n",
                     work.plan.table(), work.jobs.size(), options.workers, options.threads,
                     seconds == 0
                         ? "for how long is not known yet"
                         : fmt::format("{} {}, less where training stops early",
                                       all_known ? "about" : "at least", time_span(seconds)));
}

/// With --retry-failed, a failed run counts as waiting.
RunState state_for(RunState state, const GridFlags& flags) {
  return state == RunState::kFailed && flags.retry_failed ? RunState::kWaiting : state;
}

/// Shows the plan only: no store is created or changed. 1 if it cannot be carried out.
int show_plan(const Experiment& experiment, const ExperimentFlags& flags) {
  std::optional<ResultStore> store;
  if (std::filesystem::exists(flags.grid.store)) {
    store.emplace(flags.grid.store, ResultStore::Mode::kRead);
  }
  const ResultSet known = store ? store->load({.curves = false}) : ResultSet();
  std::vector<RunState> states;
  for (const Job& job : experiment.jobs) {
    const std::optional<std::int64_t> run = store ? store->find(job) : std::nullopt;
    states.push_back(run ? state_for(store->state(*run), flags.grid) : RunState::kWaiting);
  }
  Networks networks(flags.grid.data_folder, /*fetch=*/false);
  const Work work = remaining_work(experiment, states, networks, known);
  fmt::print("{}", describe_work(work, runner_options(flags.grid)));
  return networks.missing() > 0 ? 1 : 0;
}

/// A file whose options have all changed is recognised by its title; without a title it cannot be.
void refuse_taken_name(const ResultStore& store, const Experiment& experiment) {
  const std::string title = store.title(experiment.name);
  const bool known = experiment.title == title && title != experiment.name;
  if (known || !name_is_taken(store, experiment)) return;
  fail(
      "the store has another experiment named {} (\"{}\"), with none of these runs: give this one "
      "another name, or another --store{}",
      experiment.name, title,
      title == experiment.name ? "; one with a title may change all its options" : "");
}

/// Throws UsageError for options of reading that do not fit their table, before anything is entered
/// into a store.
void check_reading(const Experiment& experiment, const std::filesystem::path& folder) {
  std::set<std::string> seen;
  for (const Job& job : experiment.jobs) {
    const ReadOptions read = read_options_of(job);
    if (read != ReadOptions{} && seen.insert(job.network).second) {
      find_named_network(job.network, folder, /*fetch=*/false, read);
    }
  }
}

int run_experiment(const ExperimentFlags& flags) {
  const RunnerOptions options = runner_options(flags.grid);
  const Experiment experiment = read_experiment(flags.file, vocabulary(flags.grid.data_folder));
  check_reading(experiment, flags.grid.data_folder);
  say("{}: {}\n", experiment.name, experiment.title);
  if (flags.plan) return show_plan(experiment, flags);

  ResultStore store(flags.grid.store);
  refuse_taken_name(store, experiment);
  const std::vector<std::int64_t> runs = planned(store, experiment);
  std::vector<RunState> states;
  for (std::int64_t run : runs) states.push_back(state_for(store.state(run), flags.grid));
  const ResultSet known = store.load({.curves = false});
  Networks networks(flags.grid.data_folder, /*fetch=*/true);
  const Work work = remaining_work(experiment, states, networks, known);
  say("{}", describe_work(work, options));

  std::vector<Assignment> assignments;
  std::map<std::int64_t, double> estimates;
  for (std::size_t i = 0; i < work.jobs.size(); ++i) {
    const Job& job = experiment.jobs[work.jobs[i]];
    const std::int64_t run = runs[work.jobs[i]];
    const NamedNetwork& network = networks.of(job, known);
    assignments.push_back(
        {.run = run,
         .job = job,
         .data = network.data,
         .digest = network.digest,
         .missing = network.missing,
         .retry = flags.grid.retry_failed && store.state(run) == RunState::kFailed});
    estimates[run] = work.seconds[i];
  }
  watch_signals();
  GridProgress progress(std::move(estimates), options.workers);
  RunnerOutcome outcome = run_assignments(store, assignments, options, progress);
  // Counts all runs of the experiment: some failed earlier, and those of another process may have
  // finished meanwhile.
  const auto count = [&](RunState state) {
    return std::ranges::count_if(std::set(runs.begin(), runs.end()),
                                 [&](std::int64_t run) { return store.state(run) == state; });
  };
  outcome.failed = count(RunState::kFailed);
  outcome.elsewhere = count(RunState::kRunning);
  say("look at it: curnm report {} --out report.html\n", flags.grid.store);
  return report_outcome(outcome, flags.grid);
}

}  // namespace

void add_experiment(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ExperimentFlags>();
  CLI::App* command =
      app.add_subcommand("experiment", "Run a grid of trainings, and go on where it was stopped");
  command->add_option("file", flags->file, "grid in YAML, as in configs/experiments/")->required();
  add_grid_flags(*command, flags->grid);
  command->add_flag("--plan", flags->plan, "show what would be done, and do nothing");
  command->callback([flags, &exit_code] { exit_code = run_experiment(*flags); });
}

}  // namespace curnm::cli
