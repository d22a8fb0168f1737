#include "curnm/report/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "curnm/experiments/verdicts.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

constexpr std::size_t kMostNamed = 3;  // in one sentence; the table below has all
constexpr std::string_view kUncertain = "whether a difference is more than chance cannot be said";

// ---- titles

/// The name of the only one, or how many there are.
std::string one_or_count(const std::set<std::string>& names, std::string_view singular) {
  return names.size() == 1 ? *names.begin() : count_text(names.size(), singular);
}

std::string scope_of(const Runs& runs, std::size_t variants) {
  std::vector<std::string> networks;  // in order of appearance
  std::set<std::string> models;
  std::set<std::string> miners;
  std::set<std::int64_t> seeds;
  for (const RunResult* run : runs) {
    if (std::find(networks.begin(), networks.end(), run->network) == networks.end()) {
      networks.push_back(run->network);
    }
    models.insert(run->model);
    miners.insert(run->miner);
    seeds.insert(run->seed);
  }
  const bool several = models.size() > 1 && miners.size() > 1;
  return fmt::format(
      "{}: {} {} {}, {}{}",
      networks.size() > kMostNamed ? count_text(networks.size(), "network")
                                   : fmt::format("{}", fmt::join(networks, ", ")),
      one_or_count(models, "model"), several ? "×" : "with", one_or_count(miners, "miner"),
      variants > 1 ? count_text(variants, "variant") + ", " : "", count_text(seeds.size(), "seed"));
}

// ---- who is best

/// "a", "a and b", "a, b and 5 others".
std::string list_text(const std::vector<std::string>& names) {
  if (names.size() > kMostNamed + 1) {
    return fmt::format("{} and {} others",
                       fmt::join(names.begin(), names.begin() + kMostNamed, ", "),
                       names.size() - kMostNamed);
  }
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::string score_text(double score) { return decimal(score, kScoreDigits); }

std::string p_clause(const Comparison& comparison) {
  const std::string p = p_text(comparison.p);
  return p.starts_with('<') ? "p " + p : "p = " + p;
}

std::string ahead_text(const Verdict& verdict) {
  if (verdict.next.empty()) return "";
  const std::string score = score_text(verdict.next_score);
  if (verdict.best.size() > 1 || !verdict.to_next.p) {
    const bool untested = verdict.best.size() == 1 && verdict.score.count > 1;
    return fmt::format(", ahead of {} ({}{})", verdict.next, score, untested ? ", not tested" : "");
  }
  if (verdict.is_significant()) {
    return fmt::format(", significantly ahead of {} ({}, {})", verdict.next, score,
                       p_clause(verdict.to_next));
  }
  return fmt::format(", ahead of {} ({}), but not significantly ({})", verdict.next, score,
                     p_clause(verdict.to_next));
}

std::string against_rule_text(const Verdict& verdict) {
  if (verdict.to_rule == Standing::kUnknown) return "";
  const std::string_view where = verdict.to_rule == Standing::kBelow   ? "below"
                                 : verdict.to_rule == Standing::kLevel ? "level with"
                                                                       : "above";
  return fmt::format("; {} the best rule ({}, {})", where, verdict.rule.name,
                     score_text(verdict.rule.value));
}

bool is_alone(const Verdict& verdict) { return verdict.next.empty() && verdict.best.size() == 1; }

std::string text_of(const Verdict& verdict) {
  const std::string_view verb = is_alone(verdict)          ? "has"
                                : verdict.best.size() == 1 ? "is best with"
                                                           : "share the best score,";
  return fmt::format("{} {} {}{}{}.", list_text(verdict.best), verb, score_text(verdict.score.mean),
                     ahead_text(verdict), against_rule_text(verdict));
}

struct Wins {
  std::string name;
  bool shared = false;  // by several, always the same ones
  std::size_t count = 0;
  std::size_t significant = 0;
};

/// Those who are best somewhere, most often first; where nobody is alone.
std::vector<Wins> wins_of(const std::vector<Verdict>& verdicts) {
  std::vector<Wins> wins;
  for (const Verdict& verdict : verdicts) {
    if (is_alone(verdict)) continue;
    const std::string name = list_text(verdict.best);
    auto found = std::find_if(wins.begin(), wins.end(),
                              [&](const Wins& other) { return other.name == name; });
    if (found == wins.end()) {
      found = wins.insert(wins.end(), {.name = name, .shared = verdict.best.size() > 1});
    }
    ++found->count;
    found->significant += !found->shared && verdict.is_significant() ? 1 : 0;
  }
  std::stable_sort(wins.begin(), wins.end(),
                   [](const Wins& a, const Wins& b) { return a.count > b.count; });
  return wins;
}

std::string wins_text(const Verdicts& all, std::string_view contests) {
  const std::vector<Wins> wins = wins_of(all.verdicts);
  const auto alone = std::ranges::count_if(all.verdicts, is_alone);
  const std::size_t contested = all.verdicts.size() - static_cast<std::size_t>(alone);
  std::vector<std::string> parts;
  std::size_t others = 0;
  for (const Wins& of : wins) {
    if (parts.size() == kMostNamed) {
      others += of.count;
      continue;
    }
    std::string part = parts.empty()
                           ? fmt::format("{} {} best on {} of {} {}", of.name,
                                         of.shared ? "are" : "is", of.count, contested, contests)
                           : fmt::format("{} on {}", of.name, of.count);
    if (all.comparisons > 0 && !of.shared) {
      part += of.significant == 0          ? " (not significantly)"
              : of.significant == of.count ? " (significantly)"
                                           : fmt::format(" (significantly on {})", of.significant);
    }
    parts.push_back(std::move(part));
  }
  if (others > 0) parts.push_back(fmt::format("others on {}", others));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string rules_text(const Verdicts& all) {
  std::size_t known = 0;
  std::vector<std::string> not_above;
  for (const Verdict& verdict : all.verdicts) {
    if (verdict.to_rule == Standing::kUnknown) continue;
    ++known;
    if (verdict.to_rule != Standing::kAbove) not_above.push_back(verdict.subject);
  }
  if (known == 0) return "";
  if (not_above.empty()) return "always above the best rule";
  if (not_above.size() == known) return "nowhere above the best rule";
  return fmt::format("above the best rule on {} of {}, not on {}", known - not_above.size(), known,
                     list_text(not_above));
}

bool has_rule(const Verdicts& all) {
  return std::any_of(all.verdicts.begin(), all.verdicts.end(),
                     [](const Verdict& verdict) { return verdict.to_rule != Standing::kUnknown; });
}

std::string text_of(const Verdicts& all, std::string_view contests) {
  if (all.verdicts.size() == 1) return text_of(all.verdicts.front());
  const std::string wins = wins_text(all, contests);
  const std::string rules = rules_text(all);
  if (wins.empty() && rules.empty()) return "";
  return fmt::format("{}{}{}.", wins, wins.empty() || rules.empty() ? "" : "; ", rules);
}

/// The contests of an experiment's grid, and those of its variants.
struct ExperimentContests {
  std::string prefix;     // of the scores' names
  std::string_view noun;  // for several of them
  Runs runs;
  std::vector<Contest> contests;
};
std::vector<ExperimentContests> contests_of(const ExperimentRuns& experiment) {
  std::vector<ExperimentContests> all;
  if (const Runs grid = experiment.grid(); !grid.empty()) {
    all.push_back({"", "networks", grid, contests_of(grid_of(grid))});
  }
  if (experiment.has_variants()) {
    all.push_back({all.empty() ? "" : "variants: ", "trainings", experiment.all(),
                   contests_of(variant_grid_of(experiment))});
  }
  return all;
}

std::vector<SheetCell> verdict_row(const std::string& about, const Verdict& verdict,
                                   const std::string& set) {
  SheetCell score = {.text = mean_and_deviation(verdict.score, kScoreDigits),
                     .key = verdict.score.mean,
                     .below_rule = verdict.to_rule == Standing::kBelow};
  SheetCell next = {.text = verdict.next.empty() ? std::string(kDash) : verdict.next};
  SheetCell difference = {.text = std::string(kDash)};
  if (!verdict.next.empty()) {
    next.asides = {score_text(verdict.next_score)};
    if (standing(verdict.next_score, verdict.rule) == Standing::kBelow) {
      append(next.asides.front(), " {}", kBelowRule);
    }
    difference.key = std::isfinite(verdict.to_next.difference)
                         ? verdict.to_next.difference
                         : verdict.score.mean - verdict.next_score;
    difference.text = signed_decimal(difference.key, kScoreDigits);
    if (verdict.is_significant()) difference.mark = Mark::kAbove;
  }
  SheetCell rule = {.text = score_text(verdict.rule.value), .key = verdict.rule.value};
  if (!verdict.rule.name.empty()) rule.asides = {verdict.rule.name};
  return {{.text = about, .asides = {fmt::format("{}, {}", verdict.subject, set)}},
          {.text = fmt::format("{}", fmt::join(verdict.best, ", "))},
          std::move(next),
          std::move(score),
          std::move(difference),
          {.text = p_text(verdict.to_next.p), .key = verdict.to_next.p.value_or(kNoValue)},
          std::move(rule)};
}

/// Answers that are the same by several scores are given once.
void add_finding(std::vector<Finding>& findings, Finding finding) {
  if (finding.text.empty()) return;
  for (Finding& other : findings) {
    if (other.text != finding.text) continue;
    other.about += "; " + finding.about;
    return;
  }
  findings.push_back(std::move(finding));
}

Finding seed_finding(std::string_view which) {
  return {"Seeds", fmt::format("{}: {}.", which, kUncertain)};
}

// ---- one run

struct AgainstRules {
  std::size_t known = 0;
  std::vector<std::string> not_above;
};
AgainstRules against_rules(const RunResult& run, const std::string& set) {
  AgainstRules result;
  for (const Measure& measure : measures_of({&run})) {
    if (measure.set != set) continue;
    const double score = find_score(run, measure.set, measure.protocol, measure.metric);
    const BaselineScore rule = find_baseline({&run}, measure);
    const Standing against = standing(score, rule);
    if (against == Standing::kUnknown) continue;
    ++result.known;
    if (against == Standing::kAbove) continue;
    result.not_above.push_back(fmt::format("{} ({}; {} has {})", question_text(measure),
                                           score_text(score), rule.name, score_text(rule.value)));
  }
  return result;
}

std::string text_of(const AgainstRules& rules) {
  const std::string scores = count_text(rules.known, "score");
  if (rules.not_above.empty()) {
    return fmt::format("above the best rule in {} {}.", rules.known == 1 ? "its" : "all", scores);
  }
  return fmt::format("above the best rule in {} of {}; not in {}.",
                     rules.known - rules.not_above.size(), scores, list_text(rules.not_above));
}

}  // namespace

std::string scope_text(const ExperimentRuns& experiment) {
  return scope_of(experiment.all(), experiment.variants.size());
}

std::string default_title(const ResultSet& results) {
  if (results.runs.empty()) return "Results";
  if (results.runs.size() == 1) {
    const RunResult& run = results.runs.front();
    return fmt::format("{}: {} with {}, seed {}", run.network, run.model, run.miner, run.seed);
  }
  const std::vector<ExperimentRuns> experiments = experiments_of(results);
  if (experiments.size() == 1) {
    const std::string& name = experiments.front().name;
    const auto title = results.titles.find(name);
    const bool has_own = title != results.titles.end() && title->second != name;
    return has_own ? title->second : scope_text(experiments.front());
  }
  Runs runs;
  for (const RunResult& run : results.runs) runs.push_back(&run);
  return scope_of(runs, /*variants=*/1);
}

std::vector<Finding> findings_of(const ExperimentRuns& experiment) {
  std::vector<Finding> findings;
  bool single_seed = true;
  for (const ExperimentContests& of : contests_of(experiment)) {
    const std::vector<Measure> measures = measures_of(of.runs);
    for (const Measure& measure : measures) {
      if (measure.set != measures.front().set) continue;  // those of new nodes are in the table
      const Verdicts all = verdicts_of(of.contests, measure);
      if (all.verdicts.empty()) continue;
      add_finding(findings, {of.prefix + question_text(measure), text_of(all, of.noun)});
      single_seed = single_seed && all.single_seed;
    }
  }
  if (!findings.empty() && single_seed) findings.push_back(seed_finding("one of each training"));
  return findings;
}

std::vector<Finding> findings_of(const RunResult& run) {
  const std::vector<Measure> measures = measures_of({&run});
  if (measures.empty()) {
    return {{"Scores", fmt::format("none yet, the run is {}.", state_name(run.state))}};
  }
  std::vector<Finding> findings;
  std::string last_set;
  for (const Measure& measure : measures) {
    if (measure.set == std::exchange(last_set, measure.set)) continue;
    const AgainstRules rules = against_rules(run, measure.set);
    if (rules.known > 0) {
      findings.push_back({capitalised(nodes_text(measure.set)), text_of(rules)});
    }
  }
  findings.push_back(seed_finding("one"));
  return findings;
}

std::string rule_note(const ResultSet& results) {
  const bool has_rules = std::any_of(results.runs.begin(), results.runs.end(),
                                     [](const RunResult& run) { return !run.baselines.empty(); });
  return has_rules ? "The best rule is the best of those that learn nothing, on the same events."
                   : "";
}

Sheet verdict_sheet(const ExperimentRuns& experiment) {
  Sheet sheet{.title = "Who is best",
              .caption = "The best test score, the next best and the best rule without learning.",
              .header = {"score", "best", "next", "best score", "difference", "p", "rule"},
              .text_columns = 3,
              .own_column = 1};
  bool tested = false;
  bool has_rules = false;
  for (const ExperimentContests& of : contests_of(experiment)) {
    for (const Measure& measure : measures_of(of.runs)) {
      const Verdicts all = verdicts_of(of.contests, measure);
      tested = tested || all.comparisons > 0;
      has_rules = has_rules || has_rule(all);
      for (const Verdict& verdict : all.verdicts) {
        sheet.rows.push_back(
            verdict_row(of.prefix + question_text(measure), verdict, set_text(measure.set)));
      }
    }
  }
  if (has_rules) sheet.caption += below_rule_text();
  sheet.caption +=
      tested ? fmt::format(
                   " ▲ significantly ahead: paired two-sided t-tests of the best against each of "
                   "the others over common seeds, p < {} after Holm's correction over all tests "
                   "of a score.",
                   kSignificance)
             : fmt::format(" Nothing is tested, which takes two seeds in common: {}.", kUncertain);
  return sheet;
}

}  // namespace curnm
