#include "curnm/experiments/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace curnm {
namespace {

bool have_several(const std::vector<Grid::Row>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Grid::Row& row) { return row.model != rows.front().model; });
}

struct Scored {
  std::string name;
  SeedScores seeds;
  Comparison from_best = {};  // the best minus this one

  double mean() const { return seeds.summary.mean; }
};

/// Those with a score, the best first.
std::vector<Scored> ranking_of(const Contest& contest, const Measure& measure) {
  std::vector<Scored> ranking;
  for (const NamedRuns& contender : contest.contenders) {
    ranking.push_back({.name = contender.name, .seeds = seed_scores(contender.runs, measure)});
  }
  std::erase_if(ranking, [](const Scored& scored) { return scored.seeds.summary.count == 0; });
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const Scored& a, const Scored& b) { return a.mean() > b.mean(); });
  for (std::size_t i = 1; i < ranking.size(); ++i) {
    ranking[i].from_best = compare(ranking.front().seeds, ranking[i].seeds);
  }
  return ranking;
}

BaselineScore rule_of(const Contest& contest, const Measure& measure) {
  Runs runs;
  for (const NamedRuns& contender : contest.contenders) {
    runs.insert(runs.end(), contender.runs.begin(), contender.runs.end());
  }
  return find_baseline(runs, measure);
}

/// REQUIRES: a ranking of at least one, its comparisons corrected.
Verdict verdict_of(const Contest& contest, const Measure& measure,
                   const std::vector<Scored>& ranking) {
  const Scored& first = ranking.front();
  Verdict verdict{
      .subject = contest.subject, .score = first.seeds.summary, .rule = rule_of(contest, measure)};
  verdict.to_rule = standing(first.mean(), verdict.rule);
  for (const Scored& scored : ranking) {
    if (print_alike(scored.mean(), first.mean())) {
      verdict.best.push_back(scored.name);
    } else {
      verdict.next = scored.name;
      verdict.next_score = scored.mean();
      verdict.to_next = scored.from_best;
      break;
    }
  }
  return verdict;
}

}  // namespace

std::vector<Contest> contests_of(const Grid& grid) {
  const bool several_models = have_several(grid.rows);
  const bool several_miners = grid.miners.size() > 1;
  const auto name_of = [&](const std::string& model, const std::string& miner) {
    if (several_models && several_miners) return fmt::format("{} with {}", model, miner);
    return several_models ? model : miner;
  };
  std::vector<Contest> contests;
  for (const Grid::Row& row : grid.rows) {  // rows of one network follow each other
    if (contests.empty() || contests.back().subject != row.network) {
      contests.push_back({.subject = row.network, .contenders = {}});
    }
    for (std::size_t i = 0; i < grid.miners.size(); ++i) {
      contests.back().contenders.push_back({name_of(row.model, grid.miners[i]), row.cells[i]});
    }
  }
  return contests;
}

std::vector<Contest> contests_of(const VariantGrid& grid) {
  std::set<std::string> trainings;
  for (const VariantGrid::Group& group : grid.groups) {
    trainings.insert(group.model + " " + group.miner);
  }
  std::vector<Contest> contests;
  for (const VariantGrid::Group& group : grid.groups) {
    contests.push_back(
        {.subject = trainings.size() == 1
                        ? group.network
                        : fmt::format("{} ({} with {})", group.network, group.model, group.miner),
         .contenders = group.variants});
  }
  return contests;
}

Verdicts verdicts_of(const std::vector<Contest>& contests, const Measure& measure) {
  Verdicts result{.measure = measure, .single_seed = true};
  std::vector<std::vector<Scored>> rankings;
  std::vector<Comparison*> comparisons;
  for (const Contest& contest : contests) rankings.push_back(ranking_of(contest, measure));
  for (std::vector<Scored>& ranking : rankings) {
    for (Scored& scored : ranking) {
      comparisons.push_back(&scored.from_best);
      if (scored.seeds.summary.count > 1) result.single_seed = false;
    }
  }
  result.comparisons = correct(comparisons);
  for (std::size_t i = 0; i < contests.size(); ++i) {
    if (rankings[i].empty()) continue;
    result.verdicts.push_back(verdict_of(contests[i], measure, rankings[i]));
  }
  return result;
}

}  // namespace curnm
