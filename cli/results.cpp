#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/grid.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/store_names.h"
#include "curnm/base/names.h"
#include "curnm/base/printable.h"
#include "curnm/evaluation/negatives.h"
#include "curnm/experiments/store.h"
#include "curnm/experiments/tables.h"
#include "curnm/miners/registry.h"
#include "curnm/models/registry.h"
#include "curnm/report/report.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

struct ResultsFlags {
  std::string store = GridFlags().store;
  ResultFilter filter = {.curves = false};
  std::string state;
  std::string protocol = "trans";
  std::string metric = "ap";
  std::string format = "table";
};

constexpr std::array<std::string_view, 3> kListFormats = {"table", "csv", "json"};
constexpr std::array<std::string_view, 6> kListMetrics = {"ap",         "auc", "ap_global",
                                                          "auc_global", "mrr", "hits10"};

bool is_of_ranking(std::string_view metric) { return metric == "mrr" || metric == "hits10"; }

template <class Names>
void check_name(std::string_view kind, const std::string& name, const Names& known) {
  if (std::ranges::find(known, name) == std::ranges::end(known)) unknown_name(kind, name, known);
}

/// Which experiments a run belongs to, with the variant it is in each: "ablation (full)". Runs that
/// belong to none are described by their flags.
std::string places(const ResultSet& results, std::size_t run) {
  std::string text;
  for (const Cell& cell : results.cells) {
    if (cell.run != run) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", cell.experiment,
                        cell.variant.empty() ? "" : fmt::format(" ({})", cell.variant));
  }
  return text.empty() ? fmt::format("no experiment ({})", options_text(results.runs[run])) : text;
}

std::string number(double value, int digits = 4) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, digits);
}

void print_table(const ResultSet& results, const ResultsFlags& flags) {
  std::size_t width = 14;
  for (const RunResult& run : results.runs) width = std::max(width, run.network.size());
  const bool ranked = is_of_ranking(flags.metric);
  const Measure measure{"test", ranked ? std::string(kRankingScores) : flags.protocol,
                        flags.metric};
  const auto among = [&](std::string_view text) {  // a column that only rankings have
    return ranked ? fmt::format("{:>7}", text) : "";
  };
  fmt::print("{:>5}  {:<{}}  {:<8}{:<8}{:>4}  {:<8}{:>8}{:>10}{:>8}{}{:>9}  {}\n", "run", "network",
             width, "model", "miner", "seed", "state", flags.metric, "new nodes", "rule",
             among("among"), "s/epoch", "experiment, reason");
  for (std::size_t i = 0; i < results.runs.size(); ++i) {
    const RunResult& run = results.runs[i];
    std::string reason = printable(run.reason);
    std::ranges::replace(reason, '\n', ' ');
    fmt::print("{:>5}  {:<{}}  {:<8}{:<8}{:>4}  {:<8}{:>8}{:>10}{:>8}{}{:>9}  {}{}\n", run.id,
               printable(run.network), width, run.model, run.miner, run.seed, state_name(run.state),
               number(find_score(run, "test", measure.protocol, measure.metric)),
               number(find_score(run, "test_new", measure.protocol, measure.metric)),
               number(find_baseline({&run}, measure).value), among(candidates_of({&run}, measure)),
               number(run.seconds_per_epoch, 2), places(results, i),
               reason.empty() ? "" : "; " + reason);
  }
  if (results.runs.empty()) {
    say("no run is like that\n");
  } else if (ranked) {
    say("{} of true destinations among others\n", flags.metric);
  } else {
    say("{} against {} negatives\n", flags.metric, flags.protocol);
  }
}

/// The same as JSON: [{"experiment": "ablation", "variant": "full"}].
ordered_json places_json(const ResultSet& results, std::size_t run) {
  ordered_json list = ordered_json::array();
  for (const Cell& cell : results.cells) {
    if (cell.run != run) continue;
    list.push_back({{"experiment", cell.experiment}, {"variant", cell.variant}});
  }
  return list;
}

/// One document: every run with its options and scores.
ordered_json to_json(const ResultSet& results) {
  ordered_json all = ordered_json::array();
  for (std::size_t i = 0; i < results.runs.size(); ++i) {
    const RunResult& run = results.runs[i];
    ordered_json scores = ordered_json::object();
    for (const Score& score : run.scores) {
      scores[score.set][score.protocol][score.metric] = score.value;
    }
    ordered_json rules = ordered_json::object();
    for (const BaselineScore& rule : run.baselines) {
      const std::string metric = rule.protocol == kRankingScores ? "mrr" : "ap";
      rules[rule.set][rule.protocol] = {{"name", rule.name}, {metric, rule.value}};
    }
    all.push_back({{"run", run.id},
                   {"experiments", places_json(results, i)},
                   {"network", run.network},
                   {"model", run.model},
                   {"miner", run.miner},
                   {"seed", run.seed},
                   {"flags", flags_json(run.flags)},
                   {"state", state_name(run.state)},
                   {"reason", run.reason},
                   {"folder", run.folder},
                   {"epochs", run.epochs},
                   {"best_epoch", run.best_epoch},
                   {"seconds_per_epoch", run.seconds_per_epoch},
                   {"data_digest", run.data_digest},
                   {"version", run.version},
                   {"environment", to_json(run.environment)},
                   {"options", run.options},
                   {"scores", scores},
                   {"best_rules", rules}});
  }
  return all;
}

void run_results(ResultsFlags& flags) {
  if (!flags.state.empty()) flags.filter.state = find_state(flags.state);
  check_name("format", flags.format, kListFormats);
  check_name("metric", flags.metric, kListMetrics);
  check_name("protocol", flags.protocol, kChoiceNames<Protocol>);
  for (const std::string& model : flags.filter.models) models().at(model);
  for (const std::string& miner : flags.filter.miners) miners().at(miner);
  const ResultStore store(flags.store, ResultStore::Mode::kRead);
  check_experiments(store, flags.filter.experiments);
  check_networks(store, flags.filter.networks);
  const ResultSet results = store.load(flags.filter);
  if (flags.format == "json") {
    // Folders and reasons need not be valid UTF-8; JSON must be.
    fmt::print("{}\n", to_json(results).dump(2, ' ', /*ensure_ascii=*/false,
                                             ordered_json::error_handler_t::replace));
  } else if (flags.format == "csv") {
    fmt::print("{}", csv_report(results));
  } else {
    print_table(results, flags);
  }
}

}  // namespace

void add_results(CLI::App& app) {
  auto flags = std::make_shared<ResultsFlags>();
  CLI::App* command = app.add_subcommand("results", "List the runs of a store");
  command->add_option("store", flags->store, "file of the results")->capture_default_str();
  command->add_option("--experiment", flags->filter.experiments, "only of these experiments")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--network", flags->filter.networks, "only on these networks")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--model", flags->filter.models, "only of these models")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--miner", flags->filter.miners, "only with these miners")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--state", flags->state, "waiting, running, paused, done or failed");
  command->add_option("--protocol", flags->protocol, "whose scores are shown")
      ->capture_default_str();
  command
      ->add_option("--metric", flags->metric,
                   "ap, auc, ap_global or auc_global of the protocol; mrr or hits10 of the ranking")
      ->capture_default_str();
  command->add_option("--format", flags->format, "table, csv or json")->capture_default_str();
  command->callback([flags, command] {
    if (flags->format != "table") {
      refuse_flags(*command, {"--protocol", "--metric"},
                   fmt::format("--format {}, which has all scores", flags->format));
    }
    if (is_of_ranking(flags->metric)) {
      refuse_flags(*command, {"--protocol"}, fmt::format("--metric {}", flags->metric));
    }
    run_results(*flags);
  });
}

}  // namespace curnm::cli
