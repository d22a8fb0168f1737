#include "curnm/data/cells.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <system_error>

#include "curnm/base/dates.h"

namespace curnm {
namespace {

/// The digits of a number that count, without zeros at either end: 0.0100 and 1e-2 give 1. Two
/// times of the same double are the same if these agree.
std::string significant_digits(std::string_view number) {
  std::string digits;
  for (const char c : number.substr(0, number.find_first_of("eE"))) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 && (c != '0' || !digits.empty())) {
      digits += c;
    }
  }
  while (digits.ends_with('0')) digits.pop_back();
  return digits;
}

/// The digits of a date after its seconds.
std::string_view fraction_of(std::string_view date) {
  const std::size_t point = date.find_first_of(".,");
  if (point == std::string_view::npos) return {};
  const std::string_view rest = date.substr(point + 1);
  std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
  while (digits.ends_with('0')) digits.remove_suffix(1);
  return digits;
}

}  // namespace

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = fast_float::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool is_time(std::string_view text) { return is_number(text) || parse_date(text).has_value(); }

bool is_formatted_number(std::string_view text) {
  const auto drop_mark = [&](std::string_view mark) {
    if (text.starts_with(mark)) {
      text.remove_prefix(mark.size());
    } else if (text.ends_with(mark)) {
      text.remove_suffix(mark.size());
    } else {
      return false;
    }
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return true;
  };
  bool marked = false;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  for (const std::string_view mark : {"$", "\u20ac", "\u00a3", "\u00a5", "%"})
    marked |= drop_mark(mark);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (is_number(text)) return marked;
  const auto digits_at = [&](std::size_t at) {
    const std::size_t end = text.find_first_not_of("0123456789", at);
    return std::min(end, text.size()) - at;
  };
  // 1,234,567: groups of three, all divided alike.
  std::size_t at = digits_at(0);
  if (at == 0) return false;
  const char divider = at < text.size() ? text[at] : '\0';
  if (at <= 3 && std::string_view(",. '").find(divider) != std::string_view::npos) {
    while (at < text.size() && text[at] == divider && digits_at(at + 1) == 3) at += 4;
  }
  // 3,5 or 1.234,50: a fraction.
  if (at < text.size() && (text[at] == ',' || text[at] == '.')) at += 1 + digits_at(at + 1);
  return at == text.size();
}

bool is_missing(std::string_view text) {
  if (text.empty()) return true;
  constexpr std::array<std::string_view, 8> kWords = {"nan", "na",   "n/a", "null",
                                                      "nil", "none", "nat", "<na>"};
  if (text.size() > 4) return false;
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), same);
  });
}

void check_name(const Rows& row, std::string_view name) {
  if (is_printable(name)) return;
  row.fail_here(
      "the node id '{}' is not UTF-8 text, or has control characters: convert the file, for "
      "example with iconv",
      name);
}

bool read_float(std::string_view text, float& value) {
  const char* last = text.data() + text.size();
  const auto [end, error] = fast_float::from_chars(text.data(), last, value);
  return error == std::errc() && end == last && std::isfinite(value);
}

float parse_float(const Rows& row, std::string_view text, std::string_view what) {
  float value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = fast_float::from_chars(text.data(), last, value);
  if (error == std::errc::result_out_of_range) {
    row.fail_here("{} '{}' does not fit a 32-bit float", what, text);
  }
  if (error != std::errc() || end != last || text.empty()) {
    row.fail_here("{} '{}' is not a number (--drop-columns leaves columns out)", what, text);
  }
  if (!std::isfinite(value)) row.fail_here("{} '{}' is not finite", what, text);
  return value;
}

double TimeColumn::parse(const Rows& row, std::string_view text) {
  if (kind_ == Kind::kUnknown) kind_ = parse_date(text) ? Kind::kDates : Kind::kNumbers;
  const double time = has_dates() ? parse_date_of(row, text) : parse_number(row, text);
  if (time != previous_) {
    // 1e-400 becomes 0 without a row before it.
    merged_ += time == 0 && !has_dates() && !significant_digits(text).empty();
    previous_ = time;
    previous_text_ = text;
  } else if (text != previous_text_) {
    // Rows in time order are the rule, so that it is enough to look one row back.
    merged_ += has_dates() ? fraction_of(text) != fraction_of(previous_text_)
                           : significant_digits(text) != significant_digits(previous_text_);
  }
  return time;
}

double TimeColumn::parse_date_of(const Rows& row, std::string_view text) {
  const std::optional<DateTime> date = parse_date(text);
  if (!date) {
    row.fail_here("time '{}' is not a date like those before it (2024-01-31, 2024-01-31T12:30:05Z)",
                  text);
  }
  if (date->seconds < 0) {
    row.fail_here("time '{}' is before 1970: give such times as numbers, from the first one on",
                  text);
  }
  without_zone_ += date->has_zone ? 0 : 1;
  return date->seconds;
}

double TimeColumn::parse_number(const Rows& row, std::string_view text) const {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = fast_float::from_chars(text.data(), last, value);
  if (error == std::errc::result_out_of_range) {
    row.fail_here("time '{}' does not fit a double", text);
  }
  if (error != std::errc() || end != last || text.empty()) {
    row.fail_here(
        "time '{}' is not a number, nor a date such as 2024-01-31 or "
        "2024-01-31T12:30:05Z",
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

}  // namespace curnm
