#include "curnm/report/page.h"

#include <fmt/ranges.h>

#include <cmath>

#include "curnm/report/assets.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

/// ` class="best below"`, or nothing.
std::string class_attribute(const std::vector<std::string_view>& names) {
  return names.empty() ? "" : fmt::format(R"( class="{}")", fmt::join(names, " "));
}

std::vector<std::string_view> column_classes(const Sheet& sheet, std::size_t column) {
  std::vector<std::string_view> names;
  if (column < sheet.text_columns) names.push_back("text");
  if (column > 0 && column == sheet.own_column) names.push_back("own");
  return names;
}

std::vector<std::string_view> cell_classes(const Sheet& sheet, std::size_t column,
                                           const SheetCell& cell) {
  std::vector<std::string_view> names = column_classes(sheet, column);
  if (column == 0) names.clear();  // scope="row" says it
  if (cell.best) names.push_back("best");
  if (cell.mark != Mark::kNone) names.push_back(cell.mark == Mark::kBelow ? "below" : "above");
  return names;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

/// Columns that are too narrow break "0.865 ± 0.013" before the sign, and long names at
/// underscores.
std::string cell_text(const SheetCell& cell) {
  std::string text = html_escape(cell.text);
  replace_all(text, "± ", "±&nbsp;");
  replace_all(text, "_", "_<wbr>");
  return text;
}

void add_rows(std::string& out, const Sheet& sheet,
              const std::vector<std::vector<SheetCell>>& rows) {
  for (const std::vector<SheetCell>& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const SheetCell& cell = row[i];
      const std::string_view tag = i == 0 ? "th" : "td";
      append(out, "<{}{}{}", tag, i == 0 ? R"( scope="row")" : "",
             class_attribute(cell_classes(sheet, i, cell)));
      if (std::isfinite(cell.key)) append(out, R"( data-key="{:.6g}")", cell.key);
      append(out, ">{}", cell_text(cell));
      if (cell.below_rule) {
        append(out, R"(&nbsp;<abbr title="below the best rule without learning">{}</abbr>)",
               kBelowRule);
      }
      if (cell.mark != Mark::kNone) out += cell.mark == Mark::kBelow ? "&nbsp;▼" : "&nbsp;▲";
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
    append(out, R"(<th scope="col"{}>{}</th>)", class_attribute(column_classes(sheet, i)),
           html_escape(sheet.header[i]));
  }
  out += "</tr></thead>\n<tbody>";
  add_rows(out, sheet, sheet.rows);
  out += "</tbody>";
  if (!sheet.footer.empty()) {
    out += "<tfoot>";
    add_rows(out, sheet, sheet.footer);
    out += "</tfoot>";
  }
  return out + "</table></div>";
}

void add_sections(std::string& out, const std::vector<Section>& sections, int level) {
  for (const Section& section : sections) {
    append(out, "<section id=\"{0}\"><h{1}>{2}</h{1}>\n{3}", section.id, level,
           html_escape(section.heading), section.body);
    add_sections(out, section.parts, level + 1);
    out += "</section>\n";
  }
}

void add_links(std::string& out, const std::vector<Section>& sections) {
  out += "<ul>";
  for (const Section& section : sections) {
    append(out, R"(<li><a href="#{}">{}</a>)", section.id, html_escape(section.heading));
    if (!section.parts.empty()) add_links(out, section.parts);
    out += "</li>";
  }
  out += "</ul>";
}

void add_contents(std::string& out, const std::vector<Section>& sections) {
  out += R"(<nav aria-label="Contents">)";
  add_links(out, sections);
  out += "</nav>\n";
}

}  // namespace

std::string figure_of(const Sheet& sheet) {
  if (sheet.rows.empty()) return "";
  return fmt::format(
      R"(<figure class="sheet"><figcaption><strong>{}.</strong> {}</figcaption>{}</figure>)"
      "\n",
      html_escape(sheet.title), html_escape(sheet.caption), table_of(sheet));
}

std::string figure(std::string_view title, std::string_view caption, const std::string& body) {
  return fmt::format("<figure><figcaption><strong>{}.</strong> {}</figcaption>{}</figure>\n",
                     html_escape(title), html_escape(caption), body);
}

std::string figures(const std::string& body) {
  return body.empty() ? "" : fmt::format(R"(<div class="figures">{}</div>)", body);
}

std::string notes_list(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  std::string out = R"(<ul class="notes">)";
  for (const std::string& note : notes) append(out, "<li>{}</li>", html_escape(note));
  return out + "</ul>\n";
}

std::string page(std::string_view title, std::string_view lead, const std::string& style,
                 const std::string& body) {
  return fmt::format(
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
<p class="lead">{3}</p></header>
<main>
{4}</main>
<script>
{5}</script>
</body>
</html>
)",
      html_escape(title), kStyle, style, html_escape(lead), body, kScript);
}

std::string page(std::string_view title, std::string_view lead, const std::string& style,
                 const std::vector<Section>& sections) {
  std::string body;
  add_contents(body, sections);
  add_sections(body, sections, /*level=*/2);
  return page(title, lead, style, body);
}

}  // namespace curnm
