#pragma once

#include <string>
#include <string_view>

namespace curnm {

/// A field of a table with commas, quoted where RFC 4180 asks for it, and where blanks at an end
/// could be taken for none.
inline std::string csv_field(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const bool blank_end = !text.empty() && (kBlanks.find(text.front()) != kBlanks.npos ||
                                           kBlanks.find(text.back()) != kBlanks.npos);
  if (!blank_end && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

/// The same for tables that people open in a spreadsheet: a text that it would take for a formula
/// gets an apostrophe before it.
inline std::string csv_text(std::string_view text) {
  constexpr std::string_view kFormulas = "=+-@\t\r";
  if (text.empty() || kFormulas.find(text.front()) == std::string_view::npos) {
    return csv_field(text);
  }
  return csv_field("'" + std::string(text));
}

}  // namespace curnm
