#include <fmt/ranges.h>

#include "curnm/report/report.h"
#include "curnm/report/sheets.h"
#include "curnm/report/summary.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

/// Nothing in a name may become markup, end a cell or a line.
std::string escape(std::string_view text) {
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

std::string cell_text(const SheetCell& cell) {
  std::string text = escape(cell.text);
  if (cell.best) text = "**" + text + "**";
  if (cell.below_rule) append(text, " {}", kBelowRule);
  if (cell.mark != Mark::kNone) text += cell.mark == Mark::kBelow ? " ▼" : " ▲";
  if (!cell.asides.empty()) text += escape(fmt::format(" ({})", fmt::join(cell.asides, ", ")));
  return text;
}

void add_sheet(std::string& out, const Sheet& sheet) {
  append(out, "\n### {}\n\n", escape(sheet.title));
  if (!sheet.caption.empty()) out += escape(sheet.caption) + "\n\n";
  out += '|';
  for (const std::string& title : sheet.header) out += " " + escape(title) + " |";
  out += "\n|";
  for (std::size_t i = 0; i < sheet.header.size(); ++i) {
    out += i < sheet.text_columns ? " --- |" : " ---: |";
  }
  out += '\n';
  for (const auto* rows : {&sheet.rows, &sheet.footer}) {
    for (const std::vector<SheetCell>& row : *rows) {
      out += '|';
      for (const SheetCell& cell : row) out += " " + cell_text(cell) + " |";
      out += '\n';
    }
  }
}

void add_findings(std::string& out, const std::vector<Finding>& findings) {
  if (!findings.empty()) out += '\n';
  for (const Finding& finding : findings) {
    append(out, "- **{}:** {}\n", escape(finding.about), escape(finding.text));
  }
}

}  // namespace

std::string markdown_report(const ResultSet& results, const ReportOptions& options) {
  std::string out =
      "# " + escape(options.title.empty() ? default_title(results) : options.title) + "\n";
  if (results.runs.empty()) return out + "\nThere are no results yet.\n";
  if (const std::string note = rule_note(results); !note.empty()) out += "\n" + note + "\n";
  if (results.runs.size() == 1) {
    add_findings(out, findings_of(results.runs.front()));
    for (const Sheet& sheet : sheets_of(results.runs.front())) add_sheet(out, sheet);
    return out;
  }
  for (const ExperimentRuns& experiment : experiments_of(results)) {
    out += "\n## " + escape(experiment.title) + "\n";
    for (const std::string& note : notes_of(experiment)) out += "\n" + escape(note) + "\n";
    add_findings(out, findings_of(experiment));
    for (const Sheet& sheet : sheets_of(experiment)) add_sheet(out, sheet);
  }
  return out;
}

}  // namespace curnm
