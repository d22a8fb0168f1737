#include <array>
#include <tuple>
#include <utility>

#include "curnm/report/report.h"
#include "curnm/report/sheets.h"
#include "curnm/report/summary.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

// LaTeX's special characters, and those in our texts that need a command. Order does not matter:
// none is a prefix of another.
constexpr std::array<std::pair<std::string_view, std::string_view>, 23> kReplacements = {{
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "$<$"},
    {">", "$>$"},
    {"\n", " "},
    {"\r", " "},
    {"±", "$\\pm$"},
    {"−", "$-$"},
    {"×", "$\\times$"},
    {"–", "--"},
    {"†", "$\\dagger$"},
    {"▲", "$\\uparrow$"},
    {"▼", "$\\downarrow$"},
    {"“", "``"},
    {"”", "''"},
}};

std::string latex_escape(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    std::string_view found = text.substr(0, 1);
    std::string_view written = found;
    for (const auto& [symbol, command] : kReplacements) {
      if (text.starts_with(symbol)) std::tie(found, written) = std::pair(symbol, command);
    }
    escaped += written;
    text.remove_prefix(found.size());
  }
  return escaped;
}

std::string latex_cell(const SheetCell& cell) {
  std::string text = latex_escape(cell.text);
  if (cell.best) text = "\\textbf{" + text + "}";
  if (cell.below_rule) text += "~" + latex_escape(kBelowRule);
  if (cell.mark == Mark::kBelow) text = "\\cellcolor{blue!10}" + text + "~$\\downarrow$";
  if (cell.mark == Mark::kAbove) text = "\\cellcolor{orange!20}" + text + "~$\\uparrow$";
  for (const std::string& aside : cell.asides) text += " {\\tiny " + latex_escape(aside) + "}";
  return text;
}

/// The first cell of a row. After \\\\ and the rules, LaTeX would take [ and * for arguments.
std::string first_cell(const std::string& text) {
  return text.starts_with('[') || text.starts_with('*') ? "{}" + text : text;
}

void add_latex_rows(std::string& out, const std::vector<std::vector<SheetCell>>& rows) {
  for (const std::vector<SheetCell>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i > 0 ? " & " + latex_cell(row[i]) : first_cell(latex_cell(row[i]));
    }
    out += " \\\\\n";
  }
}

void add_latex_sheet(std::string& out, const Sheet& sheet) {
  append(out,
         "\n\\begin{{table}}\n\\centering\\scriptsize\n\\caption{{{}. {}}}\n"
         "\\begin{{tabular}}{{{}{}}}\n\\toprule\n",
         latex_escape(sheet.title), latex_escape(sheet.caption),
         std::string(sheet.text_columns, 'l'),
         std::string(sheet.header.size() - sheet.text_columns, 'r'));
  for (std::size_t i = 0; i < sheet.header.size(); ++i) {
    out +=
        i > 0 ? " & " + latex_escape(sheet.header[i]) : first_cell(latex_escape(sheet.header[i]));
  }
  out += " \\\\\n\\midrule\n";
  add_latex_rows(out, sheet.rows);
  if (!sheet.footer.empty()) {
    out += "\\midrule\n";
    add_latex_rows(out, sheet.footer);
  }
  out += "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

/// As comments: what to write about the tables is for their reader to say.
void add_latex_findings(std::string& out, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    append(out, "% {}: {}\n", latex_escape(finding.about), latex_escape(finding.text));
  }
}

}  // namespace

std::string latex_report(const ResultSet& results, const ReportOptions& options) {
  std::string out = "% " +
                    latex_escape(options.title.empty() ? default_title(results) : options.title) +
                    "\n% Needs \\usepackage{booktabs} and \\usepackage[table]{xcolor}.\n";
  if (results.runs.empty()) return out + "% There are no results yet.\n";
  if (const std::string note = rule_note(results); !note.empty()) out += "% " + note + "\n";
  if (results.runs.size() == 1) {
    add_latex_findings(out, findings_of(results.runs.front()));
    for (const Sheet& sheet : sheets_of(results.runs.front())) add_latex_sheet(out, sheet);
    return out;
  }
  for (const ExperimentRuns& experiment : experiments_of(results)) {
    out += "\n% " + latex_escape(experiment.title) + "\n";
    for (const std::string& note : notes_of(experiment)) out += "% " + latex_escape(note) + "\n";
    add_latex_findings(out, findings_of(experiment));
    for (const Sheet& sheet : sheets_of(experiment)) add_latex_sheet(out, sheet);
    out += "\\clearpage  % LaTeX keeps only so many tables waiting\n";
  }
  return out;
}

}  // namespace curnm
