#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/printable.h"
#include "curnm/data/text_file.h"

namespace curnm {

/// The rows of a table, one at a time, from whatever kind of file.
class Rows {
 public:
  virtual ~Rows() = default;

  /// Moves to the next row; false at the end. Throws Error for what is not a row.
  bool next() { return std::exchange(held_, false) || advance(); }
  /// Makes the following next() return the current row again.
  void put_back() { held_ = true; }

  /// Valid until next().
  std::span<const std::string_view> fields() const { return fields_; }

  /// Throws Error with the place of the current row: `edges.csv:17: ...`.
  template <class... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}:{}: {}", path(), lines_.number(),
         printable(fmt::format(format, std::forward<Args>(args)...)));
  }
  const std::string& path() const { return lines_.path(); }

 protected:
  explicit Rows(LineReader lines) : lines_(std::move(lines)) {}
  virtual bool advance() = 0;

  LineReader lines_;
  std::vector<std::string_view> fields_;

 private:
  bool held_ = false;
};

/// Rows of a delimited text. Empty lines and lines that start with '#' or '%' are skipped. Fields
/// may be quoted ("a, b" or "say ""hi"""). The delimiter is found from the first row: tab, comma,
/// semicolon, bar, or any run of blanks; or it is named by a first line `sep=;`.
class RowReader final : public Rows {
 public:
  explicit RowReader(const std::filesystem::path& path, UnpackLimit limit = {})
      : Rows(LineReader(path, limit)) {}
  /// Rows of a text that outlives the reader; `path` is for messages.
  RowReader(std::string_view text, const std::filesystem::path& path)
      : Rows(LineReader(text, path)) {}

 private:
  bool advance() override;
  bool is_delimiter(char c) const { return c == delimiter_ || (delimiter_ == ' ' && c == '\t'); }
  void split(std::string_view row);
  std::string_view quoted(std::string_view row, std::size_t& at);

  char delimiter_ = '\0';
  std::vector<std::unique_ptr<std::string>> unescaped_;  // of the current row
};

/// Opens a table: JSON lines if its first line begins with '{', otherwise delimited text. `skip`
/// names columns whose cells nobody looks at; `sparse` allows objects to have different keys.
struct TableSource {
  UnpackLimit limit = {};
  std::vector<std::string> skip = {};
  bool sparse = false;
};
std::unique_ptr<Rows> open_rows(const std::filesystem::path& path, const TableSource& source = {});

}  // namespace curnm
