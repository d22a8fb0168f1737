#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "curnm/report/figures.h"
#include "curnm/report/page.h"
#include "curnm/report/report.h"
#include "curnm/report/sheets.h"
#include "curnm/report/summary.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

/// Collapsed by default, for details that most readers skip.
std::string folded(std::string_view summary, const std::string& body) {
  if (body.empty()) return "";
  return fmt::format("<details><summary>{}</summary>{}</details>\n", html_escape(summary), body);
}

/// Leaves out what has nothing to show.
void add_part(Section& section, std::string_view name, std::string_view heading, std::string body) {
  if (body.empty()) return;
  section.parts.push_back({.id = fmt::format("{}-{}", section.id, name),
                           .heading = std::string(heading),
                           .body = std::move(body)});
}

/// Figures of one training among several, one above another.
std::string figure_group(std::string_view subject, const std::string& body) {
  if (body.empty()) return "";
  return fmt::format(R"(<div class="group"><h4>{}</h4>{}</div>)"
                     "\n",
                     html_escape(subject), body);
}

// The names of a switch's two rows of radio buttons, and of the classes that go with them.
constexpr std::array<std::string_view, 2> kChoices = {"set", "question"};
constexpr std::size_t kMostChoices = 12;

/// Hides the views that are not chosen; browsers without :has() and printed pages show all.
std::string switch_style() {
  std::string rules;
  for (const std::string_view choice : kChoices) {
    for (std::size_t i = 0; i < kMostChoices; ++i) {
      append(rules, ".views:has(.pick-{0}-{1}:checked)>.view:not(.{0}-{1}){{display:none}}\n",
             choice, i);
    }
  }
  return fmt::format("@media screen{{\n{}}}\n", rules);
}

void add_choice(std::string& out, std::string_view id, std::string_view choice,
                std::string_view legend, const std::vector<std::string>& labels) {
  append(out, "<fieldset><legend>{}</legend>", legend);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    append(
        out,
        R"(<label><input type="radio" name="{0}-{1}" class="pick-{1}-{2}"{3}><span>{4}</span></label>)",
        id, choice, i, i == 0 ? " checked" : "", html_escape(labels[i]));
  }
  out += "</fieldset>\n";
}

std::size_t index_in(std::vector<std::string>& labels, const std::string& label) {
  const auto found = std::find(labels.begin(), labels.end(), label);
  if (found != labels.end()) return static_cast<std::size_t>(found - labels.begin());
  labels.push_back(label);
  return labels.size() - 1;
}

/// One view per measure; a CSS-only switch shows one of them.
std::string views(std::string_view id, const std::vector<Measure>& measures,
                  const std::function<std::string(const Measure&)>& view) {
  std::vector<std::string> sets;
  std::vector<std::string> questions;
  std::map<std::pair<std::size_t, std::size_t>, std::string> by_choice;
  for (const Measure& measure : measures) {
    const std::size_t set = index_in(sets, set_text(measure.set));
    const std::size_t question = index_in(questions, question_text(measure));
    by_choice[{set, question}] = view(measure);
  }
  std::string out = R"(<div class="views">)";
  add_choice(out, id, kChoices[0], "Events", sets);
  add_choice(out, id, kChoices[1], "Score", questions);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (std::size_t question = 0; question < questions.size(); ++question) {
      const auto found = by_choice.find({set, question});
      const bool missing = found == by_choice.end();
      append(out, "<div class=\"view set-{} question-{}{}\">{}</div>\n", set, question,
             missing ? " none" : "",
             missing ? "<p>No run has this score on these events.</p>" : found->second);
    }
  }
  return out + "</div>\n";
}

std::string score_views(std::string_view id, const Runs& runs, const Grid& grid) {
  const std::vector<Measure> measures = measures_of(runs);
  if (measures.empty()) return "";
  return views(id, measures, [&](const Measure& measure) {
    const ScoreTable table = score_table(grid, measure);
    return figure_of(score_sheet(table)) +
           folded("p values", figure_of(significance_sheet(table))) +
           figure_of(best_of_sheet(table));
  });
}

std::string variant_views(std::string_view id, const Runs& runs, const VariantGrid& grid) {
  const std::vector<Measure> measures = measures_of(runs);
  if (measures.empty()) return "";
  return views(id, measures, [&](const Measure& measure) {
    const VariantTable table = variant_table(grid, measure);
    std::string charts;
    for (const VariantTable::Group& group : table.groups) charts += variant_figure(group, table);
    return figures(charts) + figure_of(variant_sheet(table));
  });
}

std::string learning_groups(const Grid& grid) {
  std::string out;
  for (const Grid::Row& row : grid.rows) {
    std::vector<NamedRuns> methods;
    for (std::size_t i = 0; i < grid.miners.size(); ++i) {
      methods.push_back({grid.miners[i], row.cells[i]});
    }
    const std::string subject = fmt::format("{} · {}", row.network, row.model);
    out += figure_group(subject, learning_figures(subject, methods));
    for (const NamedRuns& method : methods) {
      if (!has_question_curriculum(method.runs)) continue;
      const std::string of_method = fmt::format("{} · {}: questions", subject, method.name);
      out += figure_group(of_method, question_figures(of_method, method.runs));
    }
  }
  return figures(out);
}

std::string learning_groups(const VariantGrid& grid) {
  std::string out;
  for (const VariantGrid::Group& group : grid.groups) {
    const std::string subject =
        fmt::format("{} · {} · {}", group.network, group.model, group.miner);
    out += figure_group(subject, learning_figures(subject, group.variants));
  }
  return figures(out);
}

std::string list_of(const std::vector<Finding>& findings) {
  if (findings.empty()) return "";
  std::string out = R"(<ul class="findings">)";
  for (const Finding& finding : findings) {
    append(out, "<li><strong>{}:</strong> {}</li>\n", html_escape(finding.about),
           html_escape(finding.text));
  }
  return out + "</ul>\n";
}

std::string note_of(const std::string& text) {
  return text.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", html_escape(text));
}

std::string summary_of(const ExperimentRuns& experiment) {
  const std::string findings = list_of(findings_of(experiment));
  if (findings.empty()) return "<p>No run has a test score yet.</p>\n";
  return findings +
         folded("Every score and network, also of new nodes", figure_of(verdict_sheet(experiment)));
}

/// Above all experiments, each under its title if there are several.
Section summary_section(const std::vector<ExperimentRuns>& experiments, const std::string& rules) {
  Section section{.id = "summary", .heading = "Summary", .body = ""};
  for (const ExperimentRuns& experiment : experiments) {
    if (experiments.size() > 1)
      append(section.body, "<h3>{}</h3>\n", html_escape(experiment.title));
    section.body += summary_of(experiment);
  }
  section.body += note_of(rules);
  return section;
}

Section experiment_section(const ExperimentRuns& experiment, std::size_t index,
                           std::string_view page_scope) {
  Section section{.id = fmt::format("e{}", index), .heading = experiment.title, .body = ""};
  if (const std::string scope = scope_text(experiment); scope != page_scope) {
    append(section.body, "<p class=\"lead\">{}.</p>\n", html_escape(scope));
  }
  section.body += notes_list(notes_of(experiment));
  if (const Runs runs = experiment.grid(); !runs.empty()) {
    const Grid grid = grid_of(runs);
    add_part(section, "scores", "Scores", score_views(fmt::format("scores{}", index), runs, grid));
    add_part(section, "learning", "Learning", learning_groups(grid));
    std::string times;
    for (const RuntimeTable& table : runtime_tables(grid)) times += figure_of(runtime_sheet(table));
    add_part(section, "times", "Times", std::move(times));
  }
  const Runs all = experiment.all();
  if (experiment.has_variants()) {
    const VariantGrid grid = variant_grid_of(experiment);
    add_part(section, "variants", "Variants",
             variant_views(fmt::format("variants{}", index), all, grid));
    add_part(section, "variants-learning", "Learning of variants", learning_groups(grid));
  }
  add_part(section, "unfinished", "Not finished", figure_of(unfinished_sheet(experiment)));
  add_part(section, "options", "Options and machines",
           folded("Show them", figure_of(environment_sheet(all)) + figure_of(options_sheet(all))));
  return section;
}

std::vector<Section> sections_of(const ResultSet& results) {
  const std::vector<ExperimentRuns> experiments = experiments_of(results);
  const std::string scope = default_title(results);
  std::vector<Section> sections = {summary_section(experiments, rule_note(results))};
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    sections.push_back(experiment_section(experiments[i], i, scope));
  }
  return sections;
}

std::vector<Section> sections_of(const RunResult& run, const std::string& rules) {
  const std::string subject = fmt::format("{} · {}, seed {}", run.network, run.model, run.seed);
  std::vector<Section> sections = {
      {"summary", "Summary", list_of(findings_of(run)) + note_of(rules)},
      {"scores", "Scores", figure_of(run_scores_sheet(run))},
      {"learning", "Learning",
       figures(learning_figures(subject, {{run.miner, {&run}}}) +
               question_figures(subject, {&run}) + mining_figures(subject, run))},
      {"run", "The run", figure_of(run_sheet(run))},
      {"options", "Options and machine",
       folded("Show them",
              figure_of(environment_sheet({&run})) + figure_of(options_sheet({&run})))}};
  std::erase_if(sections, [](const Section& section) { return section.body.empty(); });
  return sections;
}

std::string state_text(const RunResult& run) {
  std::string text = capitalised(std::string(state_name(run.state)));
  if (run.epochs > 0) {
    append(text, " after {}", count_text(static_cast<std::size_t>(run.epochs), "epoch"));
  }
  if (run.best_epoch >= 0) append(text, ", of which epoch {} is the best", run.best_epoch);
  return text + ".";
}

std::string state_text(const ResultSet& results) {
  if (results.runs.size() == 1) return state_text(results.runs.front());
  std::vector<std::string> counts;
  for (const RunState state : {RunState::kDone, RunState::kRunning, RunState::kPaused,
                               RunState::kWaiting, RunState::kFailed}) {
    const auto count = std::count_if(results.runs.begin(), results.runs.end(),
                                     [&](const RunResult& run) { return run.state == state; });
    if (count > 0) counts.push_back(fmt::format("{} {}", count, state_name(state)));
  }
  return fmt::format("{}{}{}.", count_text(results.runs.size(), "run"), counts.empty() ? "" : ": ",
                     fmt::join(counts, ", "));
}

}  // namespace

std::string html_report(const ResultSet& results, const ReportOptions& options) {
  const std::string scope = default_title(results);
  const std::string& title = options.title.empty() ? scope : options.title;
  const std::string lead = (title == scope ? "" : scope + ". ") + state_text(results);
  if (results.runs.empty()) {
    return page(title, lead, switch_style(),
                "<p>There are no results yet: a report shows what runs have left in the store.</p>"
                "\n");
  }
  return page(title, lead, switch_style(),
              results.runs.size() == 1 ? sections_of(results.runs.front(), rule_note(results))
                                       : sections_of(results));
}

}  // namespace curnm
