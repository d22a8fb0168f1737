#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "curnm/report/assets.h"
#include "curnm/report/figures.h"
#include "curnm/report/report.h"
#include "curnm/report/sheets.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

/// ` class="best below"`, or nothing.
std::string class_attribute(const SheetCell& cell, bool is_text) {
  std::string names = is_text ? "text " : "";
  if (cell.best) names += "best ";
  if (cell.mark != Mark::kNone) names += cell.mark == Mark::kBelow ? "below " : "above ";
  if (names.empty()) return names;
  names.pop_back();
  return fmt::format(R"( class="{}")", names);
}

void add_rows(std::string& out, const std::vector<std::vector<SheetCell>>& rows,
              std::size_t text_columns) {
  for (const std::vector<SheetCell>& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const SheetCell& cell = row[i];
      const std::string_view tag = i == 0 ? "th" : "td";
      append(out, "<{}{}{}", tag, i == 0 ? R"( scope="row")" : "",
             class_attribute(cell, i > 0 && i < text_columns));
      if (std::isfinite(cell.key)) append(out, R"( data-key="{:.6g}")", cell.key);
      append(out, ">{}", html_escape(cell.text));
      if (cell.mark != Mark::kNone) out += cell.mark == Mark::kBelow ? " ▼" : " ▲";
      for (const std::string& aside : cell.asides) {
        append(out, " <small>{}</small>", html_escape(aside));
      }
      append(out, "</{}>", tag);
    }
    out += "</tr>\n";
  }
}

std::string table_of(const Sheet& sheet) {
  std::string out = fmt::format(
      R"(<div class="scroll" tabindex="0" role="region" aria-label="{0}"><table class="sortable" aria-label="{0}"><thead><tr>)",
      html_escape(sheet.title));
  for (std::size_t i = 0; i < sheet.header.size(); ++i) {
    append(out, R"(<th scope="col"{}>{}</th>)", i < sheet.text_columns ? R"( class="text")" : "",
           html_escape(sheet.header[i]));
  }
  out += "</tr></thead>\n<tbody>";
  add_rows(out, sheet.rows, sheet.text_columns);
  out += "</tbody>";
  if (!sheet.footer.empty()) {
    out += "<tfoot>";
    add_rows(out, sheet.footer, sheet.text_columns);
    out += "</tfoot>";
  }
  return out + "</table></div>";
}

std::string figure_of(const Sheet& sheet) {
  if (sheet.rows.empty()) return "";
  return fmt::format(
      R"(<figure class="sheet"><figcaption><strong>{}.</strong> {}</figcaption>{}</figure>)"
      "\n",
      html_escape(sheet.title), html_escape(sheet.caption), table_of(sheet));
}

/// Collapsed by default, for details that most readers skip.
std::string folded(std::string_view summary, const std::string& body) {
  if (body.empty()) return "";
  return fmt::format("<details><summary>{}</summary>{}</details>\n", html_escape(summary), body);
}

void add_section(std::string& out, std::string_view heading, const std::string& body) {
  if (!body.empty()) append(out, "<h3>{}</h3>\n{}", html_escape(heading), body);
}

std::string figures(const std::string& body) {
  return body.empty() ? "" : fmt::format(R"(<div class="figures">{}</div>)", body);
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

std::string learning_figures(const Grid& grid) {
  std::string out;
  for (const Grid::Row& row : grid.rows) {
    std::vector<Method> methods;
    for (std::size_t i = 0; i < grid.miners.size(); ++i) {
      methods.push_back({grid.miners[i], row.cells[i]});
    }
    const std::string subject = fmt::format("{} · {}", row.network, row.model);
    out += learning_figure(subject, methods);
    for (const Method& method : methods) {
      if (!has_question_curriculum(method.runs)) continue;
      out += question_figure(fmt::format("{} · {}: questions", subject, method.name), method.runs);
    }
  }
  return figures(out);
}

std::string learning_figures(const VariantGrid& grid) {
  std::string out;
  for (const VariantGrid::Group& group : grid.groups) {
    std::vector<Method> methods;
    for (const NamedRuns& variant : group.variants) {
      methods.push_back({variant.name, variant.runs});
    }
    out += learning_figure(fmt::format("{} · {} · {}", group.network, group.model, group.miner),
                           methods);
  }
  return figures(out);
}

void add_grid(std::string& out, const Runs& runs, std::size_t index) {
  const Grid grid = grid_of(runs);
  add_section(out, "Scores", score_views(fmt::format("scores{}", index), runs, grid));
  add_section(out, "Learning", learning_figures(grid));
  std::string times;
  for (const RuntimeTable& table : runtime_tables(grid)) times += figure_of(runtime_sheet(table));
  add_section(out, "Times", times);
}

void add_variants(std::string& out, const ExperimentRuns& experiment, std::size_t index) {
  const VariantGrid grid = variant_grid_of(experiment);
  add_section(out, "Variants",
              variant_views(fmt::format("variants{}", index), experiment.all(), grid));
  add_section(out, "Learning of variants", learning_figures(grid));
}

void add_experiment(std::string& out, const ExperimentRuns& experiment, std::size_t index) {
  append(out, R"(<section id="e{}"><h2>{}</h2>)", index, html_escape(experiment.title));
  out += '\n';
  const std::vector<std::string> notes = notes_of(experiment);
  if (!notes.empty()) {
    out += R"(<ul class="notes">)";
    for (const std::string& note : notes) append(out, "<li>{}</li>", html_escape(note));
    out += "</ul>\n";
  }
  if (const Runs grid = experiment.grid(); !grid.empty()) add_grid(out, grid, index);
  if (experiment.has_variants()) add_variants(out, experiment, index);
  const Runs all = experiment.all();
  add_section(out, "Not finished", figure_of(unfinished_sheet(experiment)));
  out += folded("Options and machines",
                figure_of(environment_sheet(all)) + figure_of(options_sheet(all)));
  out += "</section>\n";
}

void add_run(std::string& out, const RunResult& run) {
  add_section(out, "Scores", figure_of(run_scores_sheet(run)));
  add_section(
      out, "Learning",
      figures(learning_figure(fmt::format("{} · {}, seed {}", run.network, run.model, run.seed),
                              {{run.miner, {&run}}}) +
              question_figure("questions", {&run}) + mining_figure(run)));
  add_section(out, "The run", figure_of(run_sheet(run)));
  out += folded("Options and machine",
                figure_of(environment_sheet({&run})) + figure_of(options_sheet({&run})));
}

std::string lead(const ResultSet& results) {
  if (results.runs.size() == 1) {
    const RunResult& run = results.runs.front();
    return fmt::format("{} on {} with {} negatives, seed {}: {}", run.model, run.network, run.miner,
                       run.seed, state_name(run.state));
  }
  std::vector<std::string> counts;
  for (const RunState state : {RunState::kDone, RunState::kRunning, RunState::kPaused,
                               RunState::kWaiting, RunState::kFailed}) {
    const auto count = std::count_if(results.runs.begin(), results.runs.end(),
                                     [&](const RunResult& run) { return run.state == state; });
    if (count > 0) counts.push_back(fmt::format("{} {}", count, state_name(state)));
  }
  return fmt::format("{}{}{}", count_text(results.runs.size(), "run"), counts.empty() ? "" : ": ",
                     fmt::join(counts, ", "));
}

void add_contents(std::string& out, const std::vector<ExperimentRuns>& experiments) {
  if (experiments.size() < 2) return;
  out += R"(<nav aria-label="Experiments"><ul>)";
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    append(out, R"(<li><a href="#e{}">{}</a></li>)", i, html_escape(experiments[i].title));
  }
  out += "</ul></nav>\n";
}

}  // namespace

std::string html_report(const ResultSet& results, const ReportOptions& options) {
  std::string out = fmt::format(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{0}</title>
<style>
{1}{2}</style>
</head>
<body>
<header><h1>{0}</h1>
<p class="lead">{3}.</p></header>
<main>
)",
      html_escape(options.title), kStyle, switch_style(), html_escape(lead(results)));
  if (results.runs.empty()) {
    out += "<p>There are no results yet: a report shows what runs have left in the store.</p>\n";
  } else if (results.runs.size() == 1) {
    add_run(out, results.runs.front());
  } else {
    const std::vector<ExperimentRuns> experiments = experiments_of(results);
    add_contents(out, experiments);
    for (std::size_t i = 0; i < experiments.size(); ++i) add_experiment(out, experiments[i], i);
  }
  append(out, "</main>\n<script>\n{}</script>\n</body>\n</html>\n", kScript);
  return out;
}

}  // namespace curnm
