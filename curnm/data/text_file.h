#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/files.h"

namespace curnm {

/// The text of a file: mapped, or decompressed when it is gzip (detected by content, not by name).
class TextFile {
 public:
  explicit TextFile(const std::filesystem::path& path);

  std::string_view text() const { return mapped_ ? mapped_->text() : std::string_view(inflated_); }
  /// Its first line, without the line end: what the recognisers of formats look at.
  static std::string first_line(const std::filesystem::path& path);

 private:
  std::shared_ptr<const MappedFile> mapped_;
  std::string inflated_;
};

/// The name of a table: its file without .gz, .csv and the like.
std::string table_name(const std::filesystem::path& path);

/// Rows of a delimited text, one at a time. Empty lines and lines that start with '#' or '%' are
/// skipped. Fields may be quoted ("a, b" or "say ""hi"""), line ends may be CRLF, and a leading
/// byte-order mark is ignored.
class RowReader {
 public:
  /// `path` is for messages. The delimiter is found from the first row: tab, comma, semicolon, or
  /// any run of blanks.
  RowReader(std::string_view text, const std::filesystem::path& path);

  /// Moves to the next row; false at the end. Throws Error for an unterminated quote.
  bool next();
  /// Makes the following next() return the current row again.
  void put_back() { held_ = true; }

  std::span<const std::string_view> fields() const { return fields_; }

  /// Throws Error with the place of the current row: `edges.csv:17: ...`.
  template <class... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}:{}: {}", path_, line_, fmt::format(format, std::forward<Args>(args)...));
  }
  const std::string& path() const { return path_; }

 private:
  bool is_delimiter(char c) const { return c == delimiter_ || (delimiter_ == ' ' && c == '\t'); }
  void split(std::string_view row);
  std::string_view quoted(std::string_view row, std::size_t& at);

  std::string_view rest_;
  std::string path_;
  std::int64_t line_ = 0;
  char delimiter_ = '\0';
  bool held_ = false;
  std::vector<std::string_view> fields_;
  std::vector<std::unique_ptr<std::string>> unescaped_;  // of the current row
};

/// Numbers, with messages that name the field. All throw Error through the reader's place.
double parse_time(const RowReader& row, std::string_view text);
float parse_float(const RowReader& row, std::string_view text, std::string_view what);
bool is_number(std::string_view text);
/// Whether it is UTF-8 without zero bytes: what JSON and a terminal can show.
bool is_text(std::string_view bytes);

}  // namespace curnm
