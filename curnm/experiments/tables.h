#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/experiments/result_set.h"
#include "curnm/experiments/statistics.h"

// Tables of results: numbers only, without formatting. All are pure functions; their results point
// into the ResultSet, which must outlive them.

namespace curnm {

/// The miner that others are compared with.
inline constexpr std::string_view kOurs = "curnm";
/// A difference with a smaller p is called significant.
inline constexpr double kSignificance = 0.05;
/// Reports print scores with as many digits as the paper.
inline constexpr int kScoreDigits = 3;
/// Are two scores the same number once printed? Readers cannot see more than that, so neither is
/// called the better one.
bool print_alike(double a, double b);

using Runs = std::vector<const RunResult*>;

/// A training with several seeds under the name that sets it apart: a variant ("" for the plain
/// grid), a miner, a model.
struct NamedRuns {
  std::string name;
  Runs runs;
};

/// The runs of one set of tables: never from several experiments, since those may differ in any
/// flag.
struct ExperimentRuns {
  std::string name;                 // "" for runs that no cell names
  std::string title;                // for people
  std::vector<NamedRuns> variants;  // in the order of the cells
  /// Left out because another run has the same variant, network, model, miner and seed.
  Runs superseded;

  Runs grid() const;  // of the variant ""
  Runs all() const;   // of all variants, each once
  bool has_variants() const;
};
std::vector<ExperimentRuns> experiments_of(const ResultSet& results);

/// Runs by (network, model) and miner: networks and models in order of appearance, miners in the
/// paper's order with curnm last.
struct Grid {
  struct Row {
    std::string network;
    std::string model;
    std::vector<Runs> cells;  // one per miner
  };
  std::vector<std::string> miners;
  std::vector<Row> rows;
};
Grid grid_of(const Runs& runs);

/// What a table of scores shows: events of a set, negatives of a protocol, a metric.
struct Measure {
  std::string set;
  std::string protocol;
  std::string metric;
  bool operator==(const Measure&) const = default;
};
/// Measures for which at least one of the runs has a score: AP under each protocol, MRR and
/// Hits@10. The paper's protocol, `trans`, comes first.
std::vector<Measure> measures_of(const Runs& runs);

/// The number of candidates that the runs ranked among, as text: "100", "57 to 100"; empty if the
/// measure is not of the ranking.
std::string candidates_of(const Runs& runs, const Measure& measure);

/// The figure of validation by which runs can be compared: MRR if all that have an epoch choose the
/// best one by it.
ValidationFigure common_figure(const Runs& runs);

/// The best rule without learning, from the first run that has it; NaN if none has. Rules are
/// recorded with AP and MRR alone.
BaselineScore find_baseline(const Runs& runs, const Measure& measure);

/// Where a score stands against the best rule, to the digits that are printed.
enum class Standing { kUnknown, kBelow, kLevel, kAbove };
Standing standing(double score, const BaselineScore& rule);

/// The same training with several seeds.
struct SeedScores {
  std::map<std::int64_t, double> scores;  // by seed
  Summary summary;
  Runs unfinished;  // waiting, running, paused or failed
};
SeedScores seed_scores(const Runs& runs, const Measure& measure);

/// Two methods over the seeds that both have.
struct Comparison {
  std::int64_t pairs = 0;
  double difference = kNoValue;  // mean of the one minus mean of the other
  std::optional<double> p;       // paired t-test, after Holm's correction over the whole table

  bool significant() const { return p && *p < kSignificance; }
};
/// Before any correction.
Comparison compare(const SeedScores& one, const SeedScores& other);
/// Corrects the p values of a table's comparisons in place; returns how many there are.
std::int64_t correct(const std::vector<Comparison*>& comparisons);

struct ScoreCell {
  SeedScores seeds;
  double paper = kNoValue;
  double mrr = kNoValue;  // of the same runs, beside their AP
  Comparison to_ours;     // this miner minus curnm; empty in curnm's own column
};

struct ScoreRow {
  std::string network;
  std::string model;
  std::vector<ScoreCell> cells;   // one per miner
  double improvement = kNoValue;  // the paper's AvgImp: curnm over the others, percent
  double paper_improvement = kNoValue;
  BaselineScore baseline;  // of the network
  std::string candidates;  // of a ranking
};

struct MeanRanks {
  std::vector<double> ranks;  // one per miner
  std::int64_t rows = 0;      // rows with a figure for every miner; only these count
};

struct ScoreTable {
  Measure measure;
  std::vector<std::string> miners;
  std::vector<ScoreRow> rows;
  MeanRanks ranks;
  MeanRanks paper_ranks;
  std::int64_t comparisons = 0;  // the number that Holm's correction was applied to
};
ScoreTable score_table(const Grid& grid, const Measure& measure);

/// The best curnm against the best of all others, over all models: what one would use.
struct BestOfRow {
  struct Contender {
    std::string model;
    std::string miner;
    double mean = kNoValue;
  };
  std::string network;
  Contender ours;
  Contender other;
  double percent = kNoValue;
  double paper_percent = kNoValue;
  BaselineScore baseline;
};
/// Networks on which both sides have a result.
std::vector<BestOfRow> best_of_models(const ScoreTable& table);

struct RuntimeCell {
  Summary seconds;                 // per epoch
  double ratio = kNoValue;         // to random
  double ms_per_event = kNoValue;  // of training
  double paper_seconds = kNoValue;
};
struct RuntimeTable {
  struct Row {
    std::string network;
    std::vector<RuntimeCell> cells;  // one per miner
  };
  std::string model;
  std::vector<std::string> miners;
  std::vector<Row> rows;
};
/// One per model, with the networks on which one of its runs has finished.
std::vector<RuntimeTable> runtime_tables(const Grid& grid);

/// The named variants of the same training, by network, model and miner.
struct VariantGrid {
  struct Group {
    std::string network;
    std::string model;
    std::string miner;
    std::vector<NamedRuns> variants;
  };
  std::vector<Group> groups;
};
VariantGrid variant_grid_of(const ExperimentRuns& experiment);

struct VariantRow {
  std::string name;
  Summary validation;  // the best of each training: what variants should be chosen by
  SeedScores seeds;
  double mrr = kNoValue;            // of the same runs, beside their AP
  Summary percent;                  // difference to the first variant with the same seed
  Comparison to_first;              // empty in the first
  Summary seconds;                  // per epoch
  double paper_seconds = kNoValue;  // where the variant is a pool size of the paper
  std::string candidates;           // of a ranking
};
struct VariantTable {
  struct Group {
    std::string network;
    std::string model;
    std::string miner;
    std::vector<VariantRow> rows;
    BaselineScore baseline;
  };
  Measure measure;
  ValidationFigure validation_figure = ValidationFigure::kAp;
  std::vector<Group> groups;
  std::int64_t comparisons = 0;
};
VariantTable variant_table(const VariantGrid& grid, const Measure& measure);

/// Selects variants if there are too many to show: the first, which the others are compared with,
/// and the best, in their order.
std::vector<std::size_t> first_and_best(const std::vector<double>& validation, std::size_t most);

/// What a reader should know before comparing: several versions, data or machines, left-out runs.
std::vector<std::string> notes_of(const ExperimentRuns& experiment);

}  // namespace curnm
