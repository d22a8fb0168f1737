#pragma once

#include <optional>
#include <string_view>

namespace curnm {

/// An instant in seconds since 1970-01-01T00:00:00Z, negative before.
struct DateTime {
  double seconds = 0;
  bool has_zone = false;  // a date without one is taken as UTC
};

/// ISO 8601 as tables have it: `2024-01-31`, `2024-01-31T12:30`, `2024-01-31 12:30:05.25+01:00`;
/// the zone is Z, UTC, +hh, +hhmm or +hh:mm. Nothing for any other text, or a day or hour that does
/// not exist (a leap second 60 does).
std::optional<DateTime> parse_date(std::string_view text);

}  // namespace curnm
