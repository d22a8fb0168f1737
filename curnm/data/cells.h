#pragma once

#include <string_view>

#include "curnm/data/rows.h"

namespace curnm {

/// The cells of tables. What throws, throws Error through the place of the row, and names the cell.

bool is_number(std::string_view text);
/// A number, or a date in ISO 8601.
bool is_time(std::string_view text);
/// A number as spreadsheets and shops show it, which is no number here: 1,234.50, 3,5, $4 or 40%.
bool is_formatted_number(std::string_view text);
/// "", NaN, NA, null and the like, in any case.
bool is_missing(std::string_view text);

/// Throws Error for the name of a node that cannot be shown: it is no UTF-8, or has control
/// characters.
void check_name(const Rows& row, std::string_view name);

/// Whether the whole text is a finite number that fits a float; `value` is set then.
bool read_float(std::string_view text, float& value);
float parse_float(const Rows& row, std::string_view text, std::string_view what);

/// The times of a table: all numbers, or all dates, which become seconds since 1970.
class TimeColumn {
 public:
  double parse(const Rows& row, std::string_view text);

  bool has_dates() const { return kind_ == Kind::kDates; }
  /// Dates without a zone, which are taken as UTC.
  std::int64_t without_zone() const { return without_zone_; }
  /// Times that were written differently from the row before but became the same double.
  std::int64_t merged() const { return merged_; }

 private:
  enum class Kind { kUnknown, kNumbers, kDates };
  double parse_number(const Rows& row, std::string_view text) const;
  double parse_date_of(const Rows& row, std::string_view text);

  Kind kind_ = Kind::kUnknown;
  std::int64_t without_zone_ = 0;
  std::int64_t merged_ = 0;
  double previous_ = -1;
  std::string previous_text_;
};

}  // namespace curnm
