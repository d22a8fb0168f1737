#include "curnm/experiments/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "curnm/experiments/paper.h"

namespace curnm {
namespace {

// Results may hold any names; known ones come first and in this order.
constexpr std::array<std::string_view, 4> kOtherMiners = {"random", "recent", "ens", "taser"};
constexpr std::array<std::string_view, 2> kSets = {"test", "test_new"};
constexpr std::array<std::string_view, 5> kProtocols = {"trans", "random", "historical",
                                                        "inductive", "source_historical"};
constexpr std::array<std::string_view, 3> kMetrics = {"ap", "mrr", "hits10"};

template <std::size_t size>
std::size_t position(const std::array<std::string_view, size>& known, std::string_view name) {
  return std::find(known.begin(), known.end(), name) - known.begin();
}

template <class T>
void add_once(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// The element that `same` finds, appended if there is none.
template <class T, class Same>
T& find_or_add(std::vector<T>& values, Same same, T made) {
  const auto found = std::find_if(values.begin(), values.end(), same);
  return found == values.end() ? values.emplace_back(std::move(made)) : *found;
}

template <class T>
T& find_named(std::vector<T>& values, const std::string& name) {
  return find_or_add(
      values, [&](const T& value) { return value.name == name; }, T{.name = name});
}

auto identity(const RunResult& run) {
  return std::tie(run.network, run.model, run.miner, run.seed);
}

// Only the last finished run of a cell counts; the same run twice is not a conflict.
void place_run(ExperimentRuns& experiment, const std::string& variant, const RunResult& run) {
  Runs& runs = find_named(experiment.variants, variant).runs;
  const auto earlier = std::find_if(runs.begin(), runs.end(), [&](const RunResult* other) {
    return identity(*other) == identity(run);
  });
  if (earlier == runs.end()) {
    runs.push_back(&run);
  } else if ((*earlier)->state == RunState::kDone && run.state != RunState::kDone) {
    experiment.superseded.push_back(&run);
  } else if (*earlier != &run) {
    experiment.superseded.push_back(std::exchange(*earlier, &run));
  }
}

struct Pairs {
  std::vector<double> a;
  std::vector<double> b;
};
Pairs common_seeds(const SeedScores& a, const SeedScores& b) {
  Pairs pairs;
  for (const auto& [seed, score] : a.scores) {
    const auto other = b.scores.find(seed);
    if (other == b.scores.end()) continue;
    pairs.a.push_back(score);
    pairs.b.push_back(other->second);
  }
  return pairs;
}

bool is_paper_measure(const Measure& measure) {
  return measure.protocol == "trans" && measure.metric == "ap";
}

/// AvgImp of a row whose figures are `figure(cell)`.
template <class Figure>
double improvement(const ScoreRow& row, const std::vector<std::string>& miners, Figure figure) {
  double ours = kNoValue;
  std::vector<double> others;
  for (std::size_t i = 0; i < miners.size(); ++i) {
    if (miners[i] == kOurs) {
      ours = figure(row.cells[i]);
    } else {
      others.push_back(figure(row.cells[i]));
    }
  }
  return average_improvement(ours, others);
}

template <class Figure>
MeanRanks mean_ranks(const ScoreTable& table, Figure figure) {
  MeanRanks mean{.ranks = std::vector<double>(table.miners.size())};
  for (const ScoreRow& row : table.rows) {
    std::vector<double> figures;
    for (const ScoreCell& cell : row.cells) figures.push_back(figure(cell));
    if (std::any_of(figures.begin(), figures.end(), [](double f) { return std::isnan(f); })) {
      continue;
    }
    ++mean.rows;
    const std::vector<double> of_row = ranks(figures);
    for (std::size_t i = 0; i < of_row.size(); ++i) mean.ranks[i] += of_row[i];
  }
  for (double& rank : mean.ranks) {
    rank = mean.rows == 0 ? kNoValue : rank / static_cast<double>(mean.rows);
  }
  return mean;
}

double measured_mean(const ScoreCell& cell) { return cell.seeds.summary.mean; }
double paper_figure(const ScoreCell& cell) { return cell.paper; }

/// The mean MRR of runs whose AP a table shows; NaN in tables of rankings and where none ranked.
double mrr_beside(const Runs& runs, const Measure& measure) {
  if (measure.metric != "ap") return kNoValue;
  return seed_scores(runs, {measure.set, std::string(kRankingScores), "mrr"}).summary.mean;
}

/// Summary over the finished runs that have the figure.
template <class Figure>
Summary summarize_done(const Runs& runs, Figure figure) {
  std::vector<double> values;
  for (const RunResult* run : runs) {
    if (run->state == RunState::kDone && std::isfinite(figure(*run))) {
      values.push_back(figure(*run));
    }
  }
  return summarize(values);
}

double seconds_of(const RunResult& run) { return run.seconds_per_epoch; }
double ms_per_event_of(const RunResult& run) {
  if (run.training_events <= 0) return kNoValue;
  return 1000 * run.seconds_per_epoch / static_cast<double>(run.training_events);
}

/// M; 0 if unknown.
std::int64_t pool_of(const RunResult& run) {
  return run.options.contains("miner") ? run.options["miner"].value("pool", std::int64_t{0}) : 0;
}

/// The paper timed TGN with pools of several sizes; other variants have no counterpart in the
/// paper.
bool timed_by_paper(const VariantGrid::Group& group) {
  std::set<std::int64_t> pools;
  for (const NamedRuns& variant : group.variants) pools.insert(pool_of(*variant.runs.front()));
  return group.model == "tgn" && group.miner == kOurs && pools.size() > 1 &&
         pools.size() == group.variants.size();
}

Summary percent_summary(const Pairs& pairs) {
  std::vector<double> percent;
  for (std::size_t i = 0; i < pairs.a.size(); ++i) {
    percent.push_back(100 * (pairs.a[i] - pairs.b[i]) / pairs.b[i]);
  }
  return summarize(percent);
}

}  // namespace

bool print_alike(double a, double b) {
  const auto printed = [](double score) { return fmt::format("{:.{}f}", score, kScoreDigits); };
  return printed(a) == printed(b);
}

Runs ExperimentRuns::grid() const {
  for (const NamedRuns& variant : variants) {
    if (variant.name.empty()) return variant.runs;
  }
  return {};
}

Runs ExperimentRuns::all() const {
  Runs all;
  std::set<const RunResult*> seen;
  for (const NamedRuns& variant : variants) {
    for (const RunResult* run : variant.runs) {
      if (seen.insert(run).second) all.push_back(run);
    }
  }
  return all;
}

bool ExperimentRuns::has_variants() const {
  return std::any_of(variants.begin(), variants.end(),
                     [](const NamedRuns& variant) { return !variant.name.empty(); });
}

std::vector<ExperimentRuns> experiments_of(const ResultSet& results) {
  std::vector<ExperimentRuns> experiments;
  std::vector<bool> named(results.runs.size());
  for (const Cell& cell : results.cells) {
    named.at(cell.run) = true;
    place_run(find_named(experiments, cell.experiment), cell.variant, results.runs[cell.run]);
  }
  for (std::size_t i = 0; i < results.runs.size(); ++i) {
    // Runs without an experiment may differ in anything: only those with equal options are grouped.
    const RunResult& run = results.runs[i];
    if (!named[i]) place_run(find_named(experiments, ""), options_text(run), run);
  }
  for (ExperimentRuns& experiment : experiments) {
    const auto title = results.titles.find(experiment.name);
    experiment.title = title != results.titles.end() ? title->second : experiment.name;
    if (experiment.name.empty()) {
      experiment.title = experiments.size() == 1 ? "All runs" : "Runs of no experiment";
    }
  }
  return experiments;
}

Grid grid_of(const Runs& runs) {
  Grid grid;
  std::vector<std::string> networks;
  for (const RunResult* run : runs) {
    add_once(grid.miners, run->miner);
    add_once(networks, run->network);
    find_or_add(
        grid.rows,
        [&](const Grid::Row& row) {
          return row.network == run->network && row.model == run->model;
        },
        Grid::Row{.network = run->network, .model = run->model});
  }
  std::stable_sort(grid.miners.begin(), grid.miners.end(), [](const auto& a, const auto& b) {
    const auto order = [](const std::string& miner) {
      return std::pair(miner == kOurs, position(kOtherMiners, miner));
    };
    return order(a) < order(b);
  });
  std::stable_sort(grid.rows.begin(), grid.rows.end(), [&](const auto& a, const auto& b) {
    return std::find(networks.begin(), networks.end(), a.network) <
           std::find(networks.begin(), networks.end(), b.network);
  });
  for (Grid::Row& row : grid.rows) {
    row.cells.resize(grid.miners.size());
    for (const RunResult* run : runs) {
      if (run->network != row.network || run->model != row.model) continue;
      const auto column = std::find(grid.miners.begin(), grid.miners.end(), run->miner);
      row.cells[column - grid.miners.begin()].push_back(run);
    }
  }
  return grid;
}

std::vector<Measure> measures_of(const Runs& runs) {
  std::vector<Measure> measures;
  for (const RunResult* run : runs) {
    for (const Score& score : run->scores) {
      if (position(kMetrics, score.metric) == kMetrics.size()) continue;
      if (!std::isfinite(score.value)) continue;
      add_once(measures, Measure{score.set, score.protocol, score.metric});
    }
  }
  std::stable_sort(measures.begin(), measures.end(), [](const Measure& a, const Measure& b) {
    const auto order = [](const Measure& m) {
      return std::tuple(position(kSets, m.set), position(kMetrics, m.metric),
                        position(kProtocols, m.protocol));
    };
    return order(a) < order(b);
  });
  return measures;
}

std::string candidates_of(const Runs& runs, const Measure& measure) {
  if (measure.protocol != kRankingScores) return "";
  double least = kNoValue;
  double most = kNoValue;
  for (const RunResult* run : runs) {
    const double candidates = find_score(*run, measure.set, measure.protocol, "candidates");
    least = std::fmin(least, candidates);  // ignores NaN
    most = std::fmax(most, candidates);
  }
  if (std::isnan(most)) return "";
  return least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
}

ValidationFigure common_figure(const Runs& runs) {
  bool some = false;
  for (const RunResult* run : runs) {
    if (run->curve.empty()) continue;
    if (validation_figure(*run) == ValidationFigure::kAp) return ValidationFigure::kAp;
    some = true;
  }
  return some ? ValidationFigure::kMrr : ValidationFigure::kAp;
}

BaselineScore find_baseline(const Runs& runs, const Measure& measure) {
  if (measure.metric != "ap" && measure.metric != "mrr") return {};
  for (const RunResult* run : runs) {
    for (const BaselineScore& baseline : run->baselines) {
      if (baseline.set == measure.set && baseline.protocol == measure.protocol) return baseline;
    }
  }
  return {};
}

Standing standing(double score, const BaselineScore& rule) {
  if (std::isnan(score) || std::isnan(rule.value)) return Standing::kUnknown;
  if (print_alike(score, rule.value)) return Standing::kLevel;
  return score < rule.value ? Standing::kBelow : Standing::kAbove;
}

SeedScores seed_scores(const Runs& runs, const Measure& measure) {
  SeedScores seeds;
  for (const RunResult* run : runs) {
    if (run->state != RunState::kDone) {
      seeds.unfinished.push_back(run);
      continue;
    }
    const double score = find_score(*run, measure.set, measure.protocol, measure.metric);
    if (std::isfinite(score)) seeds.scores[run->seed] = score;
  }
  std::vector<double> values;
  for (const auto& [seed, score] : seeds.scores) values.push_back(score);
  seeds.summary = summarize(values);
  return seeds;
}

Comparison compare(const SeedScores& one, const SeedScores& other) {
  const Pairs pairs = common_seeds(one, other);
  return {.pairs = static_cast<std::int64_t>(pairs.a.size()),
          .difference = summarize(pairs.a).mean - summarize(pairs.b).mean,
          .p = paired_t_test(pairs.a, pairs.b)};
}

std::int64_t correct(const std::vector<Comparison*>& comparisons) {
  std::vector<Comparison*> tested;
  std::vector<double> p;
  for (Comparison* comparison : comparisons) {
    if (!comparison->p) continue;
    tested.push_back(comparison);
    p.push_back(*comparison->p);
  }
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->p = corrected[i];
  return static_cast<std::int64_t>(tested.size());
}

ScoreTable score_table(const Grid& grid, const Measure& measure) {
  ScoreTable table{.measure = measure, .miners = grid.miners};
  std::map<std::string, Runs> of_network;  // whatever the model: rules do not depend on it
  for (const Grid::Row& row : grid.rows) {
    for (const Runs& runs : row.cells) {
      Runs& all = of_network[row.network];
      all.insert(all.end(), runs.begin(), runs.end());
    }
  }
  const std::size_t ours =
      std::find(grid.miners.begin(), grid.miners.end(), kOurs) - grid.miners.begin();
  for (const Grid::Row& runs : grid.rows) {
    ScoreRow row{.network = runs.network, .model = runs.model};
    for (std::size_t i = 0; i < grid.miners.size(); ++i) {
      ScoreCell cell{.seeds = seed_scores(runs.cells[i], measure),
                     .mrr = mrr_beside(runs.cells[i], measure)};
      if (is_paper_measure(measure)) {
        cell.paper = paper_ap(measure.set, row.network, row.model, grid.miners[i]);
      }
      row.cells.push_back(std::move(cell));
    }
    for (std::size_t i = 0; i < row.cells.size() && ours < row.cells.size(); ++i) {
      if (i == ours) continue;
      row.cells[i].to_ours = compare(row.cells[i].seeds, row.cells[ours].seeds);
    }
    row.improvement = improvement(row, grid.miners, measured_mean);
    row.paper_improvement = improvement(row, grid.miners, paper_figure);
    row.baseline = find_baseline(of_network[row.network], measure);
    row.candidates = candidates_of(of_network[row.network], measure);
    table.rows.push_back(std::move(row));
  }
  std::vector<Comparison*> comparisons;
  for (ScoreRow& row : table.rows) {
    for (ScoreCell& cell : row.cells) comparisons.push_back(&cell.to_ours);
  }
  table.comparisons = correct(comparisons);
  table.ranks = mean_ranks(table, measured_mean);
  table.paper_ranks = mean_ranks(table, paper_figure);
  return table;
}

std::vector<BestOfRow> best_of_models(const ScoreTable& table) {
  std::vector<BestOfRow> best;
  for (const ScoreRow& row : table.rows) {
    BestOfRow& of_network = find_or_add(
        best, [&](const BestOfRow& b) { return b.network == row.network; },
        BestOfRow{.network = row.network, .baseline = row.baseline});
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const double mean = measured_mean(row.cells[i]);
      BestOfRow::Contender& side = table.miners[i] == kOurs ? of_network.ours : of_network.other;
      if (std::isnan(side.mean) || mean > side.mean) side = {row.model, table.miners[i], mean};
    }
  }
  std::erase_if(best, [](const BestOfRow& row) {
    return std::isnan(row.ours.mean) || std::isnan(row.other.mean);
  });
  for (BestOfRow& row : best) {
    row.percent = average_improvement(row.ours.mean, {{row.other.mean}});
    if (is_paper_measure(table.measure)) {
      row.paper_percent = paper_best_of(table.measure.set, row.network);
    }
  }
  return best;
}

std::vector<RuntimeTable> runtime_tables(const Grid& grid) {
  std::vector<RuntimeTable> tables;
  const std::size_t random =
      std::find(grid.miners.begin(), grid.miners.end(), "random") - grid.miners.begin();
  for (const Grid::Row& runs : grid.rows) {
    RuntimeTable::Row row{.network = runs.network};
    for (std::size_t i = 0; i < grid.miners.size(); ++i) {
      RuntimeCell cell{.seconds = summarize_done(runs.cells[i], seconds_of),
                       .ms_per_event = summarize_done(runs.cells[i], ms_per_event_of).mean};
      if (runs.model == "tgn") cell.paper_seconds = paper_seconds(runs.network, grid.miners[i]);
      row.cells.push_back(cell);
    }
    const bool timed = std::any_of(row.cells.begin(), row.cells.end(),
                                   [](const RuntimeCell& cell) { return cell.seconds.count > 0; });
    if (!timed) continue;
    if (random < row.cells.size()) {
      const double reference = row.cells[random].seconds.mean;
      for (RuntimeCell& cell : row.cells) cell.ratio = cell.seconds.mean / reference;
    }
    find_or_add(
        tables, [&](const RuntimeTable& table) { return table.model == runs.model; },
        RuntimeTable{.model = runs.model, .miners = grid.miners})
        .rows.push_back(std::move(row));
  }
  return tables;
}

VariantGrid variant_grid_of(const ExperimentRuns& experiment) {
  VariantGrid grid;
  for (const NamedRuns& variant : experiment.variants) {
    if (variant.name.empty()) continue;  // the main grid
    for (const RunResult* run : variant.runs) {
      VariantGrid::Group& group = find_or_add(
          grid.groups,
          [&](const VariantGrid::Group& g) {
            return std::tie(g.network, g.model, g.miner) ==
                   std::tie(run->network, run->model, run->miner);
          },
          VariantGrid::Group{run->network, run->model, run->miner, {}});
      find_named(group.variants, variant.name).runs.push_back(run);
    }
  }
  return grid;
}

VariantTable variant_table(const VariantGrid& grid, const Measure& measure) {
  Runs all;
  for (const VariantGrid::Group& group : grid.groups) {
    for (const NamedRuns& variant : group.variants) {
      all.insert(all.end(), variant.runs.begin(), variant.runs.end());
    }
  }
  VariantTable table{.measure = measure, .validation_figure = common_figure(all)};
  const auto validation_of = [&](const RunResult& run) {
    return best_validation(run, run.epochs, table.validation_figure);
  };
  for (const VariantGrid::Group& runs : grid.groups) {
    VariantTable::Group group{.network = runs.network, .model = runs.model, .miner = runs.miner};
    const bool timed = timed_by_paper(runs);
    for (const NamedRuns& variant : runs.variants) {
      if (std::isnan(group.baseline.value)) group.baseline = find_baseline(variant.runs, measure);
      const std::int64_t pool = pool_of(*variant.runs.front());
      group.rows.push_back(
          {.name = variant.name,
           .validation = summarize_done(variant.runs, validation_of),
           .seeds = seed_scores(variant.runs, measure),
           .mrr = mrr_beside(variant.runs, measure),
           .seconds = summarize_done(variant.runs, seconds_of),
           .paper_seconds = timed ? paper_pool_seconds(runs.network, pool) : kNoValue,
           .candidates = candidates_of(variant.runs, measure)});
    }
    table.groups.push_back(std::move(group));
  }
  std::vector<Comparison*> comparisons;
  for (VariantTable::Group& group : table.groups) {
    for (VariantRow& row : group.rows) {
      row.percent = percent_summary(common_seeds(row.seeds, group.rows.front().seeds));
      if (&row == &group.rows.front()) continue;
      row.to_first = compare(row.seeds, group.rows.front().seeds);
      comparisons.push_back(&row.to_first);
    }
  }
  table.comparisons = correct(comparisons);
  return table;
}

std::vector<std::size_t> first_and_best(const std::vector<double>& validation, std::size_t most) {
  std::vector<std::size_t> order(validation.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() <= most) return order;
  const auto score = [&](std::size_t i) { return std::isnan(validation[i]) ? -1 : validation[i]; };
  std::stable_sort(order.begin() + 1, order.end(),
                   [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
  order.resize(most);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::string> notes_of(const ExperimentRuns& experiment) {
  std::set<std::string> versions;
  std::set<std::tuple<std::string, std::int64_t>> machines;
  std::map<std::string, std::set<std::string>> digests;  // by network
  for (const RunResult* run : experiment.all()) {
    if (!run->version.empty()) versions.insert(run->version);
    if (!run->environment.cpu.empty()) {
      machines.emplace(run->environment.cpu, run->environment.threads);
    }
    if (!run->data_digest.empty()) digests[run->network].insert(run->data_digest);
  }
  std::vector<std::string> notes;
  for (const auto& [network, of_network] : digests) {
    if (of_network.size() < 2) continue;
    notes.push_back(fmt::format("Runs on {} read {} different data sets of that name (digests {}).",
                                network, of_network.size(), fmt::join(of_network, ", ")));
  }
  if (versions.size() > 1) {
    notes.push_back(fmt::format("Runs were made by several versions of the program: {}.",
                                fmt::join(versions, ", ")));
  }
  if (machines.size() > 1) {
    notes.push_back(fmt::format(
        "Runs were made on {} different machines or numbers of threads: compare times with care.",
        machines.size()));
  }
  if (const std::size_t count = experiment.superseded.size(); count > 0) {
    notes.push_back(
        fmt::format("{} of the runs {} left out, because a finished or later one has the same "
                    "variant, network, model, miner and seed.",
                    count, count == 1 ? "is" : "are"));
  }
  return notes;
}

}  // namespace curnm
