#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <set>

#include "cli/commands.h"
#include "cli/grid.h"
#include "cli/jobs.h"
#include "cli/networks.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/evaluation/task.h"
#include "curnm/experiments/estimate.h"
#include "curnm/experiments/tuner.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

enum class SearchStrategy { kHalving, kRandom, kGrid };
constexpr ChoiceNames<3> choice_names(SearchStrategy) { return {"halving", "random", "grid"}; }

constexpr std::int64_t kMostPoints = 1'000'000;

struct TuneOptions {
  std::string model = "tgn";
  std::string miner = "curnm";
  std::int64_t epochs = 60;
  std::uint64_t seed = 0;
  SearchStrategy strategy = SearchStrategy::kHalving;
  std::int64_t trials = 27;
  std::int64_t first_epochs = 6;
  std::int64_t reduction = 3;

  void fields(const FieldVisitor& visit) {
    const bool grid = strategy == SearchStrategy::kGrid;
    const std::string_view not_halving = strategy == SearchStrategy::kHalving ? ""
                                         : grid                               ? "--strategy grid"
                                                                              : "--strategy random";
    visit({.name = "model", .help = "model to train (curnm list)"}, model);
    visit({.name = "miner", .help = "whose options are tuned"}, miner);
    visit({.name = "epochs", .help = "of a whole training", .min = 1, .max = 1e6}, epochs);
    visit({.name = "seed", .help = "of the trainings and of the choice of trials", .min = 0}, seed);
    visit({.name = "strategy",
           .help = "halving: many short trainings, the best go on; random: each to its end; grid: "
                   "all points"},
          strategy);
    visit({.name = "trials",
           .help = "points that are tried",
           .min = 1,
           .max = 1e6,
           .idle = grid ? "--strategy grid" : ""},
          trials);
    visit({.name = "first-epochs",
           .help = "epochs after which halving looks for the first time",
           .min = 1,
           .max = 1e6,
           .idle = not_halving},
          first_epochs);
    visit({.name = "reduction",
           .help = "one in so many trials goes on, so many times as long",
           .min = 2,
           .max = 1000,
           .idle = not_halving},
          reduction);
  }
};

struct TuneFlags {
  std::string network;
  GivenOptions given;
  TuneOptions options;
  std::vector<std::string> vary;
  std::vector<std::string> set;
  GivenOptions read;  // of a raw table
  std::string study;
  GridFlags grid;
  bool json = false;
};

/// Parses NAME=VALUE for an option of a training.
std::pair<std::string, std::string> assignment_of(const std::string& flag,
                                                  const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at + 1 == text.size()) {
    throw UsageError(fmt::format("{} {}: give NAME=VALUE", flag, text));
  }
  const std::string name = text.substr(0, at);
  const std::vector<std::string> known = job_options();
  if (std::ranges::find(known, name) == known.end()) {
    const std::vector<std::string> of_reading = job_read_options();
    if (std::ranges::find(of_reading, name) != of_reading.end()) {
      throw UsageError(fmt::format("{0} {1}: give --{2} itself, which all trials have in common",
                                   flag, text, name));
    }
    unknown_name("option", name, std::vector<std::string_view>(known.begin(), known.end()));
  }
  if (name == "epochs") throw UsageError(fmt::format("{} {}: use --epochs", flag, text));
  return {name, text.substr(at + 1)};
}

/// The options that all trials share. A search is about the paper's method unless it says
/// otherwise.
RunFlags fixed_options(const TuneFlags& flags) {
  RunFlags fixed;
  for (const std::string& text : flags.set) {
    const auto [name, value] = assignment_of("--set", text);
    if (!fixed.emplace(name, value).second) {
      throw UsageError(fmt::format("--set {} is there twice", name));
    }
  }
  const bool varied = std::ranges::any_of(
      flags.vary, [](const std::string& text) { return text.starts_with("decoder="); });
  if (!varied) fixed.emplace("decoder", "additive");
  return fixed;
}

std::vector<Dimension> search_space(const TuneFlags& flags, const RunFlags& fixed) {
  std::vector<Dimension> space;
  for (const std::string& text : flags.vary) {
    const auto [name, list] = assignment_of("--vary", text);
    TaskOptions task;
    const std::vector<std::string_view> of_the_task = option_names(task);
    if (name == "select-on" || name == "goal" ||
        std::ranges::find(of_the_task, name) != of_the_task.end()) {
      throw UsageError(
          fmt::format("--vary {0}: it decides what trials are compared by; give all of them one "
                      "(--set {0}=...)",
                      name));
    }
    const std::vector<std::string> values = CLI::detail::split(list, ',');
    const std::set<std::string> distinct(values.begin(), values.end());
    if (distinct.size() < values.size() || distinct.contains("")) {
      throw UsageError(fmt::format("--vary {}: give different values", text));
    }
    if (std::ranges::find(space, name, &Dimension::flag) != space.end()) {
      throw UsageError(fmt::format("--vary {0} is there twice: give {0}=VALUE,VALUE", name));
    }
    space.push_back({name, values});
  }
  if (space.empty() && flags.options.miner != "curnm") {
    throw UsageError(
        fmt::format("say what to try for {}: --vary NAME=VALUE,VALUE,...", flags.options.miner));
  }
  if (space.empty()) {
    space = paper_grid(flags.options.epochs);
    std::erase_if(space, [&](const Dimension& d) { return fixed.contains(d.flag); });
  }
  for (const Dimension& dimension : space) {
    if (!fixed.contains(dimension.flag)) continue;
    throw UsageError(fmt::format("--set and --vary both have {}", dimension.flag));
  }
  double points = 1;
  for (const Dimension& dimension : space) points *= static_cast<double>(dimension.values.size());
  if (points > kMostPoints) {
    throw UsageError(fmt::format("the options to try have {:.0f} combinations, more than {}",
                                 points, grouped(kMostPoints)));
  }
  return space;
}

/// Throws UsageError for a given option that no trial uses.
void refuse_without_effect(const RunFlags& asked, const std::vector<Job>& trials) {
  for (const auto& [name, value] : asked) {
    const bool used =
        std::ranges::any_of(trials, [&](const Job& trial) { return trial.flags.contains(name); });
    if (!used) throw UsageError(fmt::format("{} has no effect on any trial", name));
  }
}

/// The trials of a search as an experiment with one variant each, so that reports show them.
Experiment trials_of(const TuneFlags& flags) {
  const TuneOptions& options = flags.options;
  Job base{.network = flags.network,
           .model = options.model,
           .miner = options.miner,
           .seed = static_cast<std::int64_t>(options.seed)};
  base.flags = fixed_options(flags);
  const std::vector<Dimension> space = search_space(flags, base.flags);
  base.flags["epochs"] = std::to_string(options.epochs);
  base.flags.insert(flags.read.begin(), flags.read.end());
  const std::int64_t count =
      options.strategy == SearchStrategy::kGrid ? number_of_points(space) : options.trials;
  Experiment trials;
  trials.name = flags.study.empty()
                    ? fmt::format("{}-{}-{}", flags.network, options.model, options.miner)
                    : flags.study;
  trials.title = fmt::format("Search for options of {} with {} on {}", options.miner, options.model,
                             flags.network);
  std::set<std::string> seen;
  const std::vector<std::int64_t> points = random_points(space, count, options.seed);
  for (std::int64_t point : points) {
    Job job = job_of_point(space, point, base);
    for (const Dimension& dimension : space) {
      job.variant += fmt::format("{}{} {}", job.variant.empty() ? "" : ", ", dimension.flag,
                                 job.flags[dimension.flag]);
    }
    // All are checked before the first runs: some combinations may be invalid.
    resolve_job(job, /*own=*/{});
    if (seen.insert(job.key()).second) trials.jobs.push_back(std::move(job));
  }
  refuse_without_effect(job_of_point(space, points.front(), base).flags, trials.jobs);
  if (const std::int64_t same = std::ssize(points) - std::ssize(trials.jobs); same > 0) {
    say("note: {} of {} combinations mean the same as another and are left out\n", same,
        points.size());
  }
  return trials;
}

/// The metric that a trial's test is quoted by.
std::string metric_of(const Job& job) {
  return job.judged_by == kRankingScores ? std::string(kRankingScores) : "ap";
}

/// A running search: its trials and what the store knows about them.
class Study {
 public:
  Study(const TuneFlags& flags, const Experiment& trials, NamedNetwork network)
      : flags_(flags),
        name_(trials.name),
        network_(std::move(network)),
        options_(runner_options(flags.grid)),
        store_(flags.grid.store),
        jobs_(trials.jobs) {
    refuse_other_data(flags.network, network_, store_.load({.curves = false}));
    if (name_is_taken(store_, trials)) {
      fail(
          "the store has another experiment named {} (\"{}\"), with none of these trials: give "
          "this search another name with --study, or another --store",
          name_, store_.title(name_));
    }
    for (std::int64_t run : planned(store_, trials)) {
      trials_.push_back({.number = std::ssize(trials_), .run = run});
    }
  }

  std::vector<Rung> rungs() const {
    const TuneOptions& options = flags_.options;
    if (options.strategy != SearchStrategy::kHalving)
      return {{std::ssize(trials_), options.epochs}};
    return halving_rungs(std::ssize(trials_), options.first_epochs, options.epochs,
                         options.reduction);
  }

  /// Trains the best trials so far up to the rung's epochs.
  RunnerOutcome run_rung(const Rung& rung, std::int64_t number) {
    std::vector<double> scores;
    for (const Trial& trial : trials_) {
      // A trial dropped on an earlier rung stays dropped.
      scores.push_back(trial.rung == std::max<std::int64_t>(0, number - 1) ? trial.score
                                                                           : kNoValue);
    }
    std::vector<std::size_t> chosen = best_of(scores, rung.trials);
    if (number == 0) {
      chosen.resize(trials_.size());
      std::iota(chosen.begin(), chosen.end(), 0);
    }
    say("rung {}: {} trials up to epoch {}\n", number + 1, chosen.size(), rung.epochs);
    for (std::size_t trial : chosen) trials_[trial].rung = number;
    const RunnerOutcome outcome = train(chosen, rung.epochs);
    score(chosen, rung.epochs);
    return outcome;
  }

  ordered_json best() const {
    const std::string metric = metric_of(jobs_.front());
    std::vector<double> scores;
    const std::int64_t top = std::ranges::max(trials_, {}, &Trial::rung).rung;
    for (const Trial& trial : trials_) scores.push_back(trial.rung == top ? trial.score : kNoValue);
    ordered_json list = ordered_json::array();
    const ResultSet known = store_.load({.curves = false});
    for (std::size_t i : best_of(scores, std::ssize(trials_))) {
      const auto run = std::ranges::find(known.runs, trials_[i].run, &RunResult::id);
      list.push_back({{"trial", trials_[i].number},
                      {"validation_" + metric, trials_[i].score},
                      {"test_" + metric, find_score(*run, "test", jobs_[i].judged_by, metric)},
                      {"folder", run->folder},
                      {"flags", flags_json(jobs_[i].flags)}});
    }
    return list;
  }

  /// Trials that failed, now or earlier.
  std::int64_t failed() const {
    return std::ranges::count_if(
        trials_, [&](const Trial& trial) { return store_.state(trial.run) == RunState::kFailed; });
  }

 private:
  RunnerOutcome train(const std::vector<std::size_t>& chosen, std::int64_t epochs) {
    const ResultSet known = store_.load({.curves = false});
    std::vector<Assignment> assignments;
    std::map<std::int64_t, double> estimates;
    const Estimates expected(known);
    for (std::size_t i : chosen) {
      const auto run = std::ranges::find(known.runs, trials_[i].run, &RunResult::id);
      const bool to_the_end = epochs == flags_.options.epochs;
      if (run->state == RunState::kFailed && !flags_.grid.retry_failed) continue;
      if (run->state == RunState::kDone || (!to_the_end && run->epochs >= epochs)) continue;
      estimates[run->id] = expected.seconds(jobs_[i], network_.events, epochs - run->epochs);
      assignments.push_back({.run = run->id,
                             .job = jobs_[i],
                             .data = network_.data,
                             .digest = network_.digest,
                             .until_epoch = to_the_end ? 0 : epochs,
                             .retry = run->state == RunState::kFailed});
    }
    GridProgress progress(std::move(estimates), options_.workers);
    return run_assignments(store_, assignments, options_, progress);
  }

  /// Scores trials by their best validation AP, or MRR, in the first `epochs` epochs. Later epochs
  /// do not count; a trial that has not got that far has no score.
  void score(const std::vector<std::size_t>& chosen, std::int64_t epochs) {
    const ResultSet known = store_.load();
    for (std::size_t i : chosen) {
      const auto run = std::ranges::find(known.runs, trials_[i].run, &RunResult::id);
      const bool reached = run->state == RunState::kDone || run->epochs >= epochs;
      trials_[i].score =
          reached ? best_validation(*run, epochs, validation_figure(*run)) : kNoValue;
    }
    store_.save_trials(name_, trials_);
  }

  const TuneFlags& flags_;
  std::string name_;
  NamedNetwork network_;
  RunnerOptions options_;
  ResultStore store_;
  std::vector<Job> jobs_;  // by trial
  std::vector<Trial> trials_;
};

/// As a shell takes it: 'Event Time'.
std::string shell_word(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-+=.,:/@%").find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string flags_text(const ordered_json& flags) {
  std::string text;
  for (const auto& [name, value] : flags.items()) {
    text += fmt::format(" --{} {}", name,
                        value.is_string() ? shell_word(value.get<std::string>()) : value.dump());
  }
  return text;
}

void print_best(const ordered_json& best, const TuneFlags& flags, const std::string& data,
                const Job& job) {
  if (best.empty()) return;
  const std::string metric = metric_of(job);
  const bool ranked = job.judged_by == kRankingScores;
  fmt::print("{}\n", ranked ? "MRR of true destinations among others"
                            : fmt::format("AP against {} negatives", job.judged_by));
  fmt::print("{:>6}{:>16}{:>12}  options\n", "trial", ranked ? "validation MRR" : "validation AP",
             ranked ? "test MRR" : "test AP");
  for (const ordered_json& trial : best) {
    const ordered_json& test = trial["test_" + metric];
    fmt::print("{:>6}{:>16.4f}{:>12} {}\n", trial["trial"].get<int>(),
               trial["validation_" + metric].get<double>(),
               std::isnan(test.get<double>()) ? "-" : fmt::format("{:.4f}", test.get<double>()),
               flags_text(trial["flags"]));
  }
  fmt::print("the best: curnm train {} --model {} --miner {} --seed {} --threads {}{}\n",
             shell_word(data), flags.options.model, flags.options.miner, flags.options.seed,
             flags.grid.threads, flags_text(best.front()["flags"]));
}

int run_tune(TuneFlags& flags) {
  runner_options(flags.grid);  // refuses wrong flags before a network is fetched
  flags.network = network_name(flags.network, flags.grid.data_folder);
  const ReadOptions read = read_options(flags.read);
  const auto network_of = [&](bool fetch) {
    NamedNetwork network = find_named_network(flags.network, flags.grid.data_folder, fetch, read);
    if (!network.missing.empty()) fail("{}", network.missing);
    return network;
  };
  network_of(/*fetch=*/false);  // fails before thousands of points are resolved
  const Experiment trials = trials_of(flags);
  const NamedNetwork network = network_of(/*fetch=*/true);
  watch_signals();
  Study study(flags, trials, network);
  RunnerOutcome total;
  std::int64_t number = 0;
  for (const Rung& rung : study.rungs()) {
    const RunnerOutcome outcome = study.run_rung(rung, number++);
    total.elsewhere += outcome.elsewhere;
    total.stopped = outcome.stopped;
    total.disk_full = outcome.disk_full;
    // The best is not known before all trials have a score.
    if (total.stopped || total.elsewhere > 0) break;
  }
  total.failed = study.failed();
  const int code = report_outcome(total, flags.grid);
  if (total.stopped || total.elsewhere > 0) return code;
  const ordered_json best = study.best();
  if (flags.json) {
    fmt::print("{}\n", best.dump(2));
  } else {
    print_best(best, flags, network.data, trials.jobs.front());
  }
  return code;
}

}  // namespace

void add_tune(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* command = app.add_subcommand(
      "tune", "Search for good options by validation AP or MRR, the paper's grid first");
  command->add_option("network", flags->network, "name, folder, or synthetic[:preset]")->required();
  add_fields(*command, flags->options, flags->given);
  command
      ->add_option("--vary", flags->vary,
                   "NAME=VALUE,VALUE,...: search these options instead of the paper's")
      ->allow_extra_args(false);
  command->add_option("--set", flags->set, "NAME=VALUE: an option that all trials have")
      ->allow_extra_args(false);
  add_read_flags(*command, flags->read);
  command->add_option("--study", flags->study,
                      "name of this search in the store (default: NETWORK-MODEL-MINER)");
  add_grid_flags(*command, flags->grid);
  command->add_flag("--json", flags->json, "the trials of the last rung as JSON, the best first");
  command->callback([flags, &exit_code] {
    set_given(flags->given, flags->options);
    refuse_idle(flags->given, flags->options);
    exit_code = run_tune(*flags);
  });
}

}  // namespace curnm::cli
