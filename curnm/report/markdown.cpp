#include <fmt/ranges.h>

#include "curnm/report/report.h"
#include "curnm/report/sheets.h"
#include "curnm/report/summary.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

/// Nothing in a name may become markup, end a cell or a line.
std::string markdown_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      escaped += ' ';
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else {
      if (std::string_view("\\`*_{}[]|#~$").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string markdown_cell(const SheetCell& cell) {
  std::string text = markdown_escape(cell.text);
  if (cell.best) text = "**" + text + "**";
  if (cell.below_rule) append(text, " {}", kBelowRule);
  if (cell.mark != Mark::kNone) text += cell.mark == Mark::kBelow ? " ▼" : " ▲";
  if (!cell.asides.empty())
    text += markdown_escape(fmt::format(" ({})", fmt::join(cell.asides, ", ")));
  return text;
}

void add_markdown_sheet(std::string& out, const Sheet& sheet) {
  append(out, "\n### {}\n\n", markdown_escape(sheet.title));
  if (!sheet.caption.empty()) out += markdown_escape(sheet.caption) + "\n\n";
  out += '|';
  for (const std::string& title : sheet.header) out += " " + markdown_escape(title) + " |";
  out += "\n|";
  for (std::size_t i = 0; i < sheet.header.size(); ++i) {
    out += i < sheet.text_columns ? " --- |" : " ---: |";
  }
  out += '\n';
  for (const auto* rows : {&sheet.rows, &sheet.footer}) {
    for (const std::vector<SheetCell>& row : *rows) {
      out += '|';
      for (const SheetCell& cell : row) out += " " + markdown_cell(cell) + " |";
      out += '\n';
    }
  }
}

void add_markdown_findings(std::string& out, const std::vector<Finding>& findings) {
  if (!findings.empty()) out += '\n';
  for (const Finding& finding : findings) {
    append(out, "- **{}:** {}\n", markdown_escape(finding.about), markdown_escape(finding.text));
  }
}

}  // namespace

std::string markdown_report(const ResultSet& results, const ReportOptions& options) {
  std::string out =
      "# " + markdown_escape(options.title.empty() ? default_title(results) : options.title) + "\n";
  if (results.runs.empty()) return out + "\nThere are no results yet.\n";
  if (const std::string note = rule_note(results); !note.empty()) out += "\n" + note + "\n";
  if (results.runs.size() == 1) {
    add_markdown_findings(out, findings_of(results.runs.front()));
    for (const Sheet& sheet : sheets_of(results.runs.front())) add_markdown_sheet(out, sheet);
    return out;
  }
  for (const ExperimentRuns& experiment : experiments_of(results)) {
    out += "\n## " + markdown_escape(experiment.title) + "\n";
    for (const std::string& note : notes_of(experiment)) out += "\n" + markdown_escape(note) + "\n";
    add_markdown_findings(out, findings_of(experiment));
    for (const Sheet& sheet : sheets_of(experiment)) add_markdown_sheet(out, sheet);
  }
  return out;
}

}  // namespace curnm
