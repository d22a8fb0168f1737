#include "curnm/data/text_file.h"

#include <fast_float/fast_float.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <system_error>

namespace curnm {
namespace {

namespace fs = std::filesystem;

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string inflate(const fs::path& path, std::size_t most = std::string::npos) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) fail("cannot open {}", path.string());
  gzbuffer(file.get(), 1 << 18);
  std::string text;
  std::vector<char> block(1 << 20);
  while (text.size() < most) {
    const int got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    int code = Z_OK;
    const char* reason = gzerror(file.get(), &code);
    if (got < 0 || (got == 0 && code != Z_OK)) {
      fail("{} is not a complete gzip file: {}", path.string(), reason);
    }
    if (got == 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Throws for text that would be misread: UTF-16, or lines that end with CR alone.
void refuse_other_text(std::string_view text, const fs::path& path) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    fail("{} is UTF-16: convert it, for example with `iconv -f utf-16 -t utf-8`", path.string());
  }
  const std::string_view start = text.substr(0, 1 << 16);
  if (start.find('\r') != start.npos && start.find('\n') == start.npos) {
    fail("the lines of {} end with CR alone: convert them, for example with `tr '\\r' '\\n'`",
         path.string());
  }
}

/// The first of tab, comma and semicolon that stands outside quotes, else blanks.
char find_delimiter(std::string_view row) {
  for (char candidate : {'\t', ',', ';'}) {
    bool quoted = false;
    bool at_start = true;  // of a field, the only place where a quote opens
    for (char c : row) {
      if (c == candidate && !quoted) return candidate;
      if (c == '"' && (quoted || at_start)) quoted = !quoted;
      at_start = c == '\t' || c == ',' || c == ';';
    }
  }
  return ' ';
}

}  // namespace

TextFile::TextFile(const fs::path& path) : mapped_(MappedFile::open(path)) {
  if (is_gzip(mapped_->text())) {
    inflated_ = inflate(path);
    mapped_.reset();
  }
  refuse_other_text(text(), path);
}

std::string TextFile::first_line(const fs::path& path) {
  const auto mapped = MappedFile::open(path);
  std::string text =
      is_gzip(mapped->text()) ? inflate(path, 1) : std::string(mapped->text().substr(0, 1 << 16));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text.substr(0, text.find_first_of("\r\n"));
}

std::string table_name(const fs::path& path) {
  std::string name = path.filename().string();
  for (std::string_view extension : {".gz", ".csv", ".tsv", ".txt"}) {
    if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  }
  return name;
}

RowReader::RowReader(std::string_view text, const fs::path& path)
    : rest_(text), path_(path.string()) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool RowReader::next() {
  if (std::exchange(held_, false)) return true;
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    std::string_view row = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    if (row.ends_with('\r')) row.remove_suffix(1);
    const std::string_view content = trim(row);
    if (content.empty() || content.front() == '#' || content.front() == '%') continue;
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

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = fast_float::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

double parse_time(const RowReader& row, std::string_view text) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = fast_float::from_chars(text.data(), last, value);
  if (error == std::errc::result_out_of_range) {
    row.fail_here("time '{}' does not fit a double", text);
  }
  if (error != std::errc() || end != last || text.empty()) {
    row.fail_here("time '{}' is not a number (dates have to be converted, to seconds for example)",
                  text);
  }
  if (!std::isfinite(value)) row.fail_here("time '{}' is not finite", text);
  if (value < 0) {
    row.fail_here("time {} is negative; shift all times so that the first is not below 0", text);
  }
  constexpr double kExact = 0x1p53;
  if (value >= kExact) {
    // Integers beyond 2^53 may share a double: two different times would silently become one.
    const std::string_view digits = text.substr(std::min(text.find_first_not_of('0'), text.size()));
    const bool is_integer = std::all_of(digits.begin(), digits.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_integer && fmt::format("{:.0f}", value) != digits) {
      row.fail_here(
          "time {} has more digits than a double holds (2^53); use a coarser unit, such as "
          "microseconds instead of nanoseconds",
          text);
    }
  }
  return value + 0.0;  // -0 becomes 0
}

float parse_float(const RowReader& row, std::string_view text, std::string_view what) {
  float value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = fast_float::from_chars(text.data(), last, value);
  if (error == std::errc::result_out_of_range) {
    row.fail_here("{} '{}' does not fit a 32-bit float", what, text);
  }
  if (error != std::errc() || end != last || text.empty()) {
    row.fail_here("{} '{}' is not a number (`curnm import --drop-columns` leaves columns out)",
                  what, text);
  }
  if (!std::isfinite(value)) row.fail_here("{} '{}' is not finite", what, text);
  return value;
}

bool is_text(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto at = [&](std::size_t j) {
      return j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U;
    };
    const unsigned lead = at(i);
    if (lead == 0) return false;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4) return false;
    for (std::size_t j = 1; j < length; ++j) {
      if ((at(i + j) & 0xC0U) != 0x80U) return false;
    }
    const unsigned second = at(i + 1);
    const bool too_long = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool no_character = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
    if (too_long || no_character) return false;
    i += length;
  }
  return true;
}

}  // namespace curnm
