#include "curnm/data/rows.h"

#include <algorithm>

namespace curnm {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// How often a delimiter stands outside quotes.
std::int64_t count_delimiter(std::string_view row, char delimiter) {
  std::int64_t count = 0;
  bool quoted = false;
  bool at_start = true;  // of a field, the only place where a quote opens
  for (const char c : row) {
    count += c == delimiter && !quoted;
    if (c == '"' && (quoted || at_start)) quoted = !quoted;
    at_start = c == '\t' || c == ',' || c == ';' || c == '|';
  }
  return count;
}

/// A tab; else whichever of comma, semicolon and bar is most frequent (a;b;3,5 has decimal commas);
/// else blanks.
char find_delimiter(std::string_view row) {
  if (count_delimiter(row, '\t') > 0) return '\t';
  char best = ' ';
  std::int64_t most = 0;
  for (const char candidate : {',', ';', '|'}) {
    const std::int64_t count = count_delimiter(row, candidate);
    if (count > most) best = candidate;
    most = std::max(most, count);
  }
  return best;
}

/// Spreadsheets tell each other the delimiter in a line before the header: sep=;
bool names_delimiter(std::string_view line) {
  return line.size() == 5 && (line.starts_with("sep=") || line.starts_with("SEP="));
}

}  // namespace

bool RowReader::advance() {
  while (lines_.next()) {
    const std::string_view row = lines_.line();
    const std::string_view content = trim(row);
    if (content.empty() || content.front() == '#' || content.front() == '%') continue;
    if (delimiter_ == '\0' && names_delimiter(content)) {
      delimiter_ = content.back();
      continue;
    }
    if (delimiter_ == '\0') delimiter_ = find_delimiter(row);
    split(delimiter_ == ' ' ? content : row);
    return true;
  }
  return false;
}

void RowReader::split(std::string_view row) {
  fields_.clear();
  unescaped_.clear();
  std::size_t at = 0;
  while (true) {
    if (delimiter_ == ' ') {
      while (at < row.size() && is_blank(row[at])) ++at;
    }
    if (at < row.size() && row[at] == '"') {
      fields_.push_back(quoted(row, at));
    } else {
      const std::size_t start = at;
      while (at < row.size() && !is_delimiter(row[at])) ++at;
      fields_.push_back(trim(row.substr(start, at - start)));
    }
    if (at >= row.size()) return;
    ++at;
  }
}

/// A field in quotes; `at` moves past it, to the delimiter.
std::string_view RowReader::quoted(std::string_view row, std::size_t& at) {
  const std::size_t start = ++at;
  bool escaped = false;
  while (true) {
    at = row.find('"', at);
    if (at == std::string_view::npos) fail_here("a quoted field does not end on its line");
    if (at + 1 >= row.size() || row[at + 1] != '"') break;
    escaped = true;
    at += 2;
  }
  std::string_view field = row.substr(start, at - start);
  ++at;
  if (at < row.size() && !is_delimiter(row[at])) {
    fail_here("text follows the closing quote of '{}'", field);
  }
  if (!escaped) return field;
  auto& plain = *unescaped_.emplace_back(std::make_unique<std::string>());
  for (std::size_t i = 0; i < field.size(); ++i) {
    plain += field[i];
    if (field[i] == '"') ++i;
  }
  return plain;
}

}  // namespace curnm
