#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/print.h"
#include "curnm/base/error.h"
#include "curnm/evaluation/negatives.h"
#include "curnm/experiments/run_result.h"

namespace curnm::cli {
namespace {

struct Column {
  std::string title;
  RunResult run;

  double ap(std::string_view protocol) const { return find_score(run, "test", protocol, "ap"); }
  double ranking(std::string_view metric) const {
    return find_score(run, "test", kRankingScores, metric);
  }
};

const BaselineScore* rule_of(const RunResult& run, std::string_view protocol) {
  const auto found = std::ranges::find_if(run.baselines, [&](const BaselineScore& rule) {
    return rule.set == "test" && rule.protocol == protocol;
  });
  return found == run.baselines.end() ? nullptr : &*found;
}

std::vector<Column> read_columns(const std::vector<std::string>& folders) {
  std::vector<Column> columns;
  for (const std::string& folder : folders) {
    RunResult run = read_run_folder(folder);
    if (run.state != RunState::kDone) fail("{} is not finished", folder);
    columns.push_back({.title = run.miner, .run = std::move(run)});
  }
  for (Column& column : columns) {
    if (column.run.data_digest != columns.front().run.data_digest) {
      fail("{} and {} are runs on different networks: their figures cannot be compared",
           columns.front().run.folder, column.run.folder);
    }
    if (column.run.options["task"] != columns.front().run.options["task"]) {
      fail("{} and {} were split or tested differently: their figures cannot be compared",
           columns.front().run.folder, column.run.folder);
    }
  }
  // Runs are named by what distinguishes them.
  const auto differ = [&](auto member) {
    return std::ranges::any_of(columns, [&](const Column& column) {
      return member(column.run) != member(columns.front().run);
    });
  };
  const bool models = differ([](const RunResult& run) { return run.model; });
  const bool seeds = differ([](const RunResult& run) { return run.seed; });
  for (Column& column : columns) {
    if (models) column.title = column.run.model + "+" + column.title;
    if (seeds) column.title += fmt::format(" {}", column.run.seed);
  }
  return columns;
}

/// The comparison in one sentence. REQUIRES: two columns.
std::string conclusion(const Column& first, const Column& second) {
  int ahead = 0;
  int all = 0;
  int beaten = 0;  // by a rule
  for (const Protocol protocol : all_protocols()) {
    const std::string_view name = name_of(protocol);
    if (std::isnan(first.ap(name)) || std::isnan(second.ap(name))) continue;  // not measured
    ++all;
    ahead += second.ap(name) > first.ap(name) ? 1 : 0;
    const BaselineScore* rule = rule_of(second.run, name);
    beaten += rule != nullptr && rule->value > second.ap(name) ? 1 : 0;
  }
  const std::string_view trans = name_of(Protocol::kTrans);
  const std::string figures =
      std::isnan(second.ap(trans) - first.ap(trans))
          ? ""
          : fmt::format(" (trans: {:.3f} against {:.3f})", second.ap(trans), first.ap(trans));
  return fmt::format(
      "{} is ahead of {} on {} of {} protocols{}; a rule that learns nothing is ahead of it on {}.",
      second.title, first.title, ahead, all, figures,
      beaten == 0 ? "none" : std::to_string(beaten));
}

/// The best rule, which ends a line.
void print_rule(const RunResult& run, std::string_view protocol) {
  const BaselineScore* rule = rule_of(run, protocol);
  fmt::print("{}\n", rule == nullptr ? "" : fmt::format("   {:.4f} {}", rule->value, rule->name));
}

void run_compare(const std::vector<std::string>& folders) {
  const std::vector<Column> columns = read_columns(folders);
  fmt::print("{:<20}", "test AP");
  for (const Column& column : columns) fmt::print("{:>14}", column.title);
  fmt::print("   best without learning\n");
  for (const Protocol protocol : all_protocols()) {
    const std::string_view name = name_of(protocol);
    fmt::print("{:<20}", name);
    for (const Column& column : columns) fmt::print("{:>14}", figure_or_dash(column.ap(name)));
    print_rule(columns.front().run, name);
  }
  // Runs with the same options of the task rank among the same candidates.
  if (const double candidates = columns.front().ranking("candidates"); std::isfinite(candidates)) {
    const auto print = [&](std::string_view title, std::string_view metric) {
      fmt::print("{:<20}", fmt::format("{} of {}", title, candidates + 1));
      for (const Column& column : columns) fmt::print("{:>14.4f}", column.ranking(metric));
    };
    print("MRR", "mrr");
    print_rule(columns.front().run, kRankingScores);
    print("Hits@10", "hits10");
    fmt::print("\n");
  }
  fmt::print("{:<20}", "s per epoch");
  for (const Column& column : columns) fmt::print("{:>14.2f}", column.run.seconds_per_epoch);
  fmt::print("\n");
  if (columns.size() == 2) fmt::print("{}\n", conclusion(columns[0], columns[1]));
}

}  // namespace

void add_compare(CLI::App& app) {
  auto folders = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("compare", "Test figures of finished runs side by side");
  command->add_option("runs", *folders, "folders of runs on one network")
      ->required()
      ->expected(2, 20);
  command->callback([folders] { run_compare(*folders); });
}

}  // namespace curnm::cli
