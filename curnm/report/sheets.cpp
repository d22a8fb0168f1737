#include "curnm/report/sheets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "curnm/report/text.h"

namespace curnm {
namespace {

constexpr int kPercentDigits = 2;
constexpr std::size_t kMostVariants = 200;  // of one training; nobody reads a thousand rows

SheetCell label(std::string text) { return {.text = std::move(text)}; }

SheetCell number(std::string text, double key, std::vector<std::string> asides = {}) {
  return {.text = std::move(text), .asides = std::move(asides), .key = key};
}

/// The label of a row, all in one cell: on narrow screens its column stays visible.
SheetCell row_label(const std::string& network, const std::string& aside) {
  return {.text = network, .asides = {aside}};
}

void add_paper(SheetCell& cell, double figure, const std::string& text) {
  if (std::isfinite(figure)) cell.asides.insert(cell.asides.begin(), "paper " + text);
}

void mark_below_rule(SheetCell& cell, const BaselineScore& rule) {
  cell.below_rule = standing(cell.key, rule) == Standing::kBelow;
}

SheetCell rule_cell(const BaselineScore& rule) {
  SheetCell cell = number(decimal(rule.value, kScoreDigits), rule.value);
  if (!rule.name.empty()) cell.asides = {rule.name};
  return cell;
}

void add_mrr(SheetCell& cell, double mrr) {
  if (std::isfinite(mrr)) cell.asides.push_back("MRR " + decimal(mrr, kScoreDigits));
}

/// The column of our miner in a table whose first one is a label; 0 if it is not there.
std::size_t own_column(const std::vector<std::string>& miners) {
  const auto found = std::find(miners.begin(), miners.end(), kOurs);
  return found == miners.end() ? 0 : 1 + static_cast<std::size_t>(found - miners.begin());
}

/// Mean ± deviation; missing seeds are shown, so that no cell looks better supported than it is.
SheetCell seeds_cell(const SeedScores& seeds, std::int64_t usual_count) {
  SheetCell cell = number(mean_and_deviation(seeds.summary, kScoreDigits), seeds.summary.mean);
  const auto count = static_cast<std::size_t>(seeds.summary.count);
  if (count == 0 && !seeds.unfinished.empty()) {
    cell.text = state_name(seeds.unfinished.front()->state);
  } else if (!seeds.unfinished.empty()) {
    cell.asides = {fmt::format("{} of {} seeds", count, count + seeds.unfinished.size())};
  } else if (count != 0 && seeds.summary.count != usual_count) {
    cell.asides = {count_text(count, "seed")};
  }
  return cell;
}

std::int64_t largest_count(const ScoreTable& table) {
  std::int64_t largest = 0;
  for (const ScoreRow& row : table.rows) {
    for (const ScoreCell& cell : row.cells) largest = std::max(largest, cell.seeds.summary.count);
  }
  return largest;
}

std::string metric_text(const Measure& measure) {
  if (measure.metric == "hits10") return "Hits@10";
  return measure.metric == "mrr" ? "MRR" : "AP";
}

/// Whoever ranks among more has a lower figure: the number is part of a row's label.
void add_candidates(SheetCell& row_label, const std::string& candidates) {
  if (!candidates.empty()) row_label.asides.push_back("among " + candidates);
}

bool is_comparable(const ScoreTable& table) {
  return table.miners.size() > 1 && own_column(table.miners) > 0;
}

bool is_ranked(const ScoreTable& table) { return table.miners.size() > 1 && table.ranks.rows > 0; }

std::vector<SheetCell> rank_row(const ScoreTable& table) {
  const auto rows = [](const MeanRanks& ranks) {
    return count_text(static_cast<std::size_t>(ranks.rows), "row");
  };
  SheetCell title = row_label("mean rank", rows(table.ranks));
  if (table.paper_ranks.rows > 0) title.asides.push_back("paper: " + rows(table.paper_ranks));
  std::vector<SheetCell> cells = {std::move(title)};
  for (std::size_t i = 0; i < table.miners.size(); ++i) {
    cells.push_back(number(decimal(table.ranks.ranks[i], 2), table.ranks.ranks[i]));
    add_paper(cells.back(), table.paper_ranks.ranks[i], decimal(table.paper_ranks.ranks[i], 2));
  }
  return cells;
}

std::string test_text(std::int64_t comparisons) {
  return fmt::format(
      "paired two-sided t-test over common seeds, p < {} after Holm's correction over the {} of "
      "this table",
      kSignificance, count_text(static_cast<std::size_t>(comparisons), "comparison"));
}

std::string score_caption(const ScoreTable& table, std::int64_t usual_count) {
  std::string caption =
      fmt::format("Mean{} over {} unless noted.", usual_count > 1 ? " ± standard deviation" : "",
                  count_text(static_cast<std::size_t>(usual_count), "seed"));
  if (table.miners.size() > 1) caption += " Bold: the best of the row, as printed.";
  if (table.comparisons > 0) {
    caption += fmt::format(" ▼ below {0}, ▲ above {0}: {1}.", kOurs, test_text(table.comparisons));
  } else if (is_comparable(table)) {
    caption += " Differences are not tested: that takes two seeds in common, and scores that vary.";
  }
  if (is_comparable(table)) {
    caption +=
        fmt::format(" AvgImp: by how many percent {} is above the others, on average.", kOurs);
  }
  if (is_ranked(table)) caption += " Mean rank: over the rows in which every miner has a result.";
  return caption;
}

void add_if_filled(std::vector<Sheet>& sheets, Sheet sheet) {
  if (!sheet.rows.empty()) sheets.push_back(std::move(sheet));
}

}  // namespace

Mark mark_of(const Comparison& comparison) {
  if (!comparison.significant()) return Mark::kNone;
  return comparison.difference < 0 ? Mark::kBelow : Mark::kAbove;
}

std::string below_rule_text() {
  return fmt::format(" {} below the best rule without learning.", kBelowRule);
}

std::string set_text(const std::string& set) {
  if (set == "test") return "all test events";
  return set == "test_new" ? "events of new nodes" : set;
}

std::string nodes_text(const std::string& set) {
  if (set == "test") return "all nodes";
  return set == "test_new" ? "new nodes" : set;
}

std::string question_text(const Measure& measure) {
  if (measure.protocol == kRankingScores) return metric_text(measure);
  return fmt::format("{}, {}", metric_text(measure), measure.protocol);
}

std::string measure_text(const Measure& measure) {
  if (measure.protocol == kRankingScores) {
    return fmt::format("{} of true destinations among others, {}", metric_text(measure),
                       set_text(measure.set));
  }
  return fmt::format("{} against {} negatives, {}", metric_text(measure), measure.protocol,
                     set_text(measure.set));
}

Sheet score_sheet(const ScoreTable& table) {
  const bool comparable = is_comparable(table);
  const bool has_rules = std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
    return std::isfinite(row.baseline.value);
  });
  const std::int64_t usual_count = largest_count(table);
  Sheet sheet{.title = measure_text(table.measure),
              .caption = score_caption(table, usual_count),
              .header = {"network"},
              .own_column = own_column(table.miners)};
  if (has_rules) sheet.caption += below_rule_text();
  sheet.header.insert(sheet.header.end(), table.miners.begin(), table.miners.end());
  if (comparable) sheet.header.push_back("AvgImp %");
  if (has_rules) sheet.header.push_back("rule");
  for (const ScoreRow& row : table.rows) {
    std::vector<SheetCell> cells = {row_label(row.network, row.model)};
    add_candidates(cells.front(), row.candidates);
    double best = kNoValue;
    for (const ScoreCell& cell : row.cells) best = std::fmax(best, cell.seeds.summary.mean);
    for (const ScoreCell& score : row.cells) {
      SheetCell cell = seeds_cell(score.seeds, usual_count);
      add_paper(cell, score.paper, decimal(score.paper, kScoreDigits));
      add_mrr(cell, score.mrr);
      mark_below_rule(cell, row.baseline);
      cell.mark = mark_of(score.to_ours);
      cell.best = table.miners.size() > 1 && std::isfinite(cell.key) && print_alike(cell.key, best);
      cells.push_back(std::move(cell));
    }
    if (comparable) {
      cells.push_back(number(signed_decimal(row.improvement, kPercentDigits), row.improvement));
      add_paper(cells.back(), row.paper_improvement,
                signed_decimal(row.paper_improvement, kPercentDigits));
    }
    if (has_rules) cells.push_back(rule_cell(row.baseline));
    sheet.rows.push_back(std::move(cells));
  }
  if (is_ranked(table)) {
    sheet.footer.push_back(rank_row(table));
    sheet.footer.back().resize(sheet.header.size());
  }
  return sheet;
}

Sheet significance_sheet(const ScoreTable& table) {
  Sheet sheet{.title = "p values: " + measure_text(table.measure), .header = {"network"}};
  if (table.comparisons == 0) return sheet;
  sheet.caption = fmt::format("Each miner against {}: {}.", kOurs, test_text(table.comparisons));
  for (const std::string& miner : table.miners) {
    if (miner != kOurs) sheet.header.push_back(miner);
  }
  for (const ScoreRow& row : table.rows) {
    std::vector<SheetCell> cells = {row_label(row.network, row.model)};
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (table.miners[i] == kOurs) continue;
      const Comparison& comparison = row.cells[i].to_ours;
      SheetCell cell = number(p_text(comparison.p), comparison.p.value_or(kNoValue),
                              {count_text(static_cast<std::size_t>(comparison.pairs), "pair")});
      cell.mark = mark_of(comparison);
      cells.push_back(std::move(cell));
    }
    sheet.rows.push_back(std::move(cells));
  }
  return sheet;
}

Sheet best_of_sheet(const ScoreTable& table) {
  Sheet sheet{.title = "Best of all models: " + measure_text(table.measure),
              .caption = fmt::format("The best {} of any model against the best of all other "
                                     "miners and models on each network, in percent of the latter.",
                                     kOurs),
              .header = {"network", fmt::format("best {}", kOurs), "best other", "difference %"},
              .own_column = 1};
  const auto contender_cell = [](const BestOfRow& row, const BestOfRow::Contender& contender,
                                 std::string name) {
    SheetCell cell =
        number(decimal(contender.mean, kScoreDigits), contender.mean, {std::move(name)});
    mark_below_rule(cell, row.baseline);
    return cell;
  };
  bool has_rules = false;
  for (const BestOfRow& row : best_of_models(table)) {
    has_rules = has_rules || std::isfinite(row.baseline.value);
    SheetCell difference = number(signed_decimal(row.percent, kPercentDigits), row.percent);
    add_paper(difference, row.paper_percent, signed_decimal(row.paper_percent, kPercentDigits));
    sheet.rows.push_back(
        {label(row.network), contender_cell(row, row.ours, row.ours.model),
         contender_cell(row, row.other, fmt::format("{} {}", row.other.model, row.other.miner)),
         std::move(difference)});
  }
  if (has_rules) sheet.caption += below_rule_text();
  return sheet;
}

Sheet runtime_sheet(const RuntimeTable& table) {
  Sheet sheet{
      .title = "Seconds per epoch of " + table.model,
      .caption =
          "Training alone, mean of the finished runs. Small: the multiple of random's time, and "
          "milliseconds per training event.",
      .header = {"network"},
      .own_column = own_column(table.miners)};
  bool has_paper = false;
  sheet.header.insert(sheet.header.end(), table.miners.begin(), table.miners.end());
  for (const RuntimeTable::Row& row : table.rows) {
    std::vector<SheetCell> cells = {label(row.network)};
    for (const RuntimeCell& runtime : row.cells) {
      std::vector<std::string> asides;
      if (std::isfinite(runtime.ratio)) asides.push_back("×" + decimal(runtime.ratio, 2));
      if (std::isfinite(runtime.ms_per_event)) {
        asides.push_back(decimal(runtime.ms_per_event, 2) + " ms");
      }
      SheetCell cell = number(seconds_text(runtime.seconds.mean), runtime.seconds.mean);
      if (!asides.empty()) cell.asides = {fmt::format("{}", fmt::join(asides, ", "))};
      add_paper(cell, runtime.paper_seconds, seconds_text(runtime.paper_seconds));
      has_paper = has_paper || std::isfinite(runtime.paper_seconds);
      cells.push_back(std::move(cell));
    }
    sheet.rows.push_back(std::move(cells));
  }
  if (has_paper) sheet.caption += " The paper's seconds are those of a GPU and 48 cores.";
  return sheet;
}

Sheet variant_sheet(const VariantTable& table) {
  const std::string_view validated = figure_name(table.validation_figure);
  Sheet sheet{
      .title = "Variants: " + measure_text(table.measure),
      .caption =
          "Mean ± standard deviation over seeds, and the difference to the first "
          "variant with the same seed in percent of it. Variants are to be chosen by their "
          "figure in validation, not by the test.",
      .header = {"network", "variant", fmt::format("validation {}", validated),
                 "test " + metric_text(table.measure), "difference %", "p", "seconds per epoch"},
      .text_columns = 2,
      .own_column = 1};
  const bool has_rules =
      std::any_of(table.groups.begin(), table.groups.end(),
                  [](const auto& group) { return std::isfinite(group.baseline.value); });
  if (has_rules) {
    sheet.header.push_back("rule");
    sheet.caption += below_rule_text();
  }
  if (table.comparisons > 0) {
    sheet.caption +=
        fmt::format(" ▼ below, ▲ above the first variant: {}.", test_text(table.comparisons));
  }
  for (const VariantTable::Group& group : table.groups) {
    const VariantRow& first = group.rows.front();
    std::vector<double> validation;
    for (const VariantRow& row : group.rows) validation.push_back(row.validation.mean);
    const std::vector<std::size_t> shown = first_and_best(validation, kMostVariants);
    sheet.caption += chosen_text(group.rows.size(), shown.size(), validated, "listed");
    for (const std::size_t i : shown) {
      const VariantRow& row = group.rows[i];
      SheetCell difference = number(std::string(kDash), row.percent.mean);
      if (&row != &first) {
        difference.text = signed_mean_and_deviation(row.percent, kPercentDigits);
        difference.mark = mark_of(row.to_first);
      }
      SheetCell seconds = number(seconds_text(row.seconds.mean), row.seconds.mean);
      add_paper(seconds, row.paper_seconds, seconds_text(row.paper_seconds));
      SheetCell test = seeds_cell(row.seeds, first.seeds.summary.count);
      add_mrr(test, row.mrr);
      mark_below_rule(test, group.baseline);
      SheetCell training = row_label(group.network, fmt::format("{} {}", group.model, group.miner));
      add_candidates(training, row.candidates);
      sheet.rows.push_back(
          {std::move(training), label(row.name),
           number(mean_and_deviation(row.validation, kScoreDigits), row.validation.mean),
           std::move(test), std::move(difference),
           number(p_text(row.to_first.p), row.to_first.p.value_or(kNoValue)), std::move(seconds)});
      if (has_rules) sheet.rows.back().push_back(rule_cell(group.baseline));
    }
  }
  return sheet;
}

Sheet unfinished_sheet(const ExperimentRuns& experiment) {
  Sheet sheet{.title = "Failed and unfinished runs",
              .caption = "They count in no table above.",
              .header = {"network", "seed", "state", "reason"},
              .text_columns = 4};
  std::set<const RunResult*> listed;  // variants may share a run
  for (const NamedRuns& variant : experiment.variants) {
    const std::string of = variant.name.empty() ? "" : fmt::format(" ({})", variant.name);
    for (const RunResult* run : variant.runs) {
      if (run->state == RunState::kDone || !listed.insert(run).second) continue;
      sheet.rows.push_back(
          {row_label(run->network, fmt::format("{} {}{}", run->model, run->miner, of)),
           label(std::to_string(run->seed)), label(std::string(state_name(run->state))),
           label(run->reason.empty() ? std::string(kDash) : run->reason)});
    }
  }
  return sheet;
}

Sheet options_sheet(const Runs& runs) {
  Sheet sheet{.title = "Options",
              .caption = "All values that occur; options of a model or miner are listed under it.",
              .header = {"of", "option", "values"},
              .text_columns = 3};
  // In order of first occurrence: that of options.json for a run, alphabetical for runs of a store.
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> values;
  for (const RunResult* run : runs) {
    for (const auto& [part, options] : run->options.items()) {
      if (!options.is_object()) continue;
      const std::string of = part == "model"   ? "model " + run->model
                             : part == "miner" ? "miner " + run->miner
                                               : part;
      for (const auto& [name, value] : options.items()) {
        if (name == "seed" || name == "model" || name == "miner") continue;  // the table's axes
        const std::pair key(of, name);
        std::vector<std::string>& seen = values[key];
        if (seen.empty()) order.push_back(key);
        const std::string text = json_text(value);
        if (std::find(seen.begin(), seen.end(), text) == seen.end()) seen.push_back(text);
      }
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& key : order) {
    sheet.rows.push_back({label(key.first), label(key.second),
                          label(fmt::format("{}", fmt::join(values[key], ", ")))});
  }
  return sheet;
}

Sheet environment_sheet(const Runs& runs) {
  Sheet sheet{.title = "Where runs were made",
              .caption = "Program, machine and libraries, with the number of runs.",
              .header = {"version", "processor", "cores", "threads", "memory", "system",
                         "libraries", "runs"},
              .text_columns = 7};
  std::map<std::vector<std::string>, std::size_t> counts;
  for (const RunResult* run : runs) {
    const Environment& machine = run->environment;
    const auto amount = [](std::int64_t n) { return n > 0 ? std::to_string(n) : std::string(); };
    std::vector<std::string> key = {
        run->version,
        machine.cpu,
        amount(machine.cores),
        amount(machine.threads),
        machine.memory_bytes > 0
            ? fmt::format("{:.1f} GiB", static_cast<double>(machine.memory_bytes) / (1 << 30))
            : "",
        machine.system,
        machine.libraries};
    const bool known = std::any_of(key.begin(), key.end(), [](auto& s) { return !s.empty(); });
    if (known) ++counts[std::move(key)];
  }
  for (const auto& [key, count] : counts) {
    std::vector<SheetCell> cells;
    for (const std::string& text : key) {
      cells.push_back(label(text.empty() ? std::string(kDash) : text));
    }
    cells.push_back(number(std::to_string(count), static_cast<double>(count)));
    sheet.rows.push_back(std::move(cells));
  }
  return sheet;
}

Sheet run_sheet(const RunResult& run) {
  Sheet sheet{.title = "What was trained", .header = {"property", "value"}, .text_columns = 2};
  const auto add = [&](std::string name, std::string value) {
    if (!value.empty()) sheet.rows.push_back({label(std::move(name)), label(std::move(value))});
  };
  add("network", run.network);
  add("model", run.model);
  add("miner", run.miner);
  add("seed", std::to_string(run.seed));
  add("state", run.reason.empty() ? std::string(state_name(run.state))
                                  : fmt::format("{}: {}", state_name(run.state), run.reason));
  if (run.epochs > 0) add("epochs", std::to_string(run.epochs));
  if (run.best_epoch >= 0) add("best epoch", std::to_string(run.best_epoch));
  if (std::isfinite(run.seconds_per_epoch)) {
    add("seconds per epoch", seconds_text(run.seconds_per_epoch));
  }
  if (run.training_events > 0) add("training events", std::to_string(run.training_events));
  add("digest of the data", run.data_digest);
  return sheet;
}

Sheet run_scores_sheet(const RunResult& run) {
  Sheet sheet{.title = "Test scores",
              .caption =
                  "AP and AUC against the negatives of each protocol, and where true destinations "
                  "stand among others, on all test events and on those of nodes that training has "
                  "not seen, beside the best rule without learning on the same events." +
                  below_rule_text(),
              .header = {"score"},
              .own_column = 1};
  const std::vector<Measure> measures = measures_of({&run});
  std::vector<std::string> sets;
  std::vector<Measure> questions;  // of any set
  for (const Measure& measure : measures) {
    if (std::find(sets.begin(), sets.end(), measure.set) == sets.end()) sets.push_back(measure.set);
    const auto same = [&](const Measure& other) {
      return question_text(other) == question_text(measure);
    };
    if (std::none_of(questions.begin(), questions.end(), same)) questions.push_back(measure);
  }
  for (const std::string& set : sets) {
    const std::string nodes = nodes_text(set);
    sheet.header.insert(sheet.header.end(), {nodes, "rule, " + nodes, "AUC, " + nodes});
  }
  for (Measure measure : questions) {
    SheetCell title = label(question_text(measure));
    add_candidates(title, candidates_of({&run}, measure));
    std::vector<SheetCell> cells = {std::move(title)};
    for (const std::string& set : sets) {
      measure.set = set;
      const double score = find_score(run, set, measure.protocol, measure.metric);
      const double auc = find_score(run, set, measure.protocol, "auc");
      const BaselineScore rule = find_baseline({&run}, measure);
      cells.push_back(number(decimal(score, kScoreDigits), score));
      mark_below_rule(cells.back(), rule);
      cells.push_back(rule_cell(rule));
      cells.push_back(number(decimal(auc, kScoreDigits), auc));
    }
    sheet.rows.push_back(std::move(cells));
  }
  return sheet;
}

std::vector<Sheet> sheets_of(const ExperimentRuns& experiment) {
  std::vector<Sheet> sheets;
  const Runs runs = experiment.grid();
  const Grid grid = grid_of(runs);
  for (const Measure& measure : measures_of(runs)) {
    const ScoreTable table = score_table(grid, measure);
    add_if_filled(sheets, score_sheet(table));
    add_if_filled(sheets, significance_sheet(table));
    add_if_filled(sheets, best_of_sheet(table));
  }
  if (experiment.has_variants()) {
    const VariantGrid variants = variant_grid_of(experiment);
    for (const Measure& measure : measures_of(experiment.all())) {
      add_if_filled(sheets, variant_sheet(variant_table(variants, measure)));
    }
  }
  for (const RuntimeTable& table : runtime_tables(grid)) {
    add_if_filled(sheets, runtime_sheet(table));
  }
  add_if_filled(sheets, unfinished_sheet(experiment));
  return sheets;
}

std::vector<Sheet> sheets_of(const RunResult& run) {
  std::vector<Sheet> sheets = {run_sheet(run)};
  add_if_filled(sheets, run_scores_sheet(run));
  return sheets;
}

}  // namespace curnm
