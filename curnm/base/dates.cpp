#include "curnm/base/dates.h"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>

namespace curnm {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes pieces from the front of a text. Once a piece is missing, all later ones are, too.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  bool next_is(char c) const { return rest_.starts_with(c); }

  bool take(std::string_view piece) {
    if (!rest_.starts_with(piece)) return false;
    rest_.remove_prefix(piece.size());
    return true;
  }
  void expect(char c) { ok_ = take({&c, 1}) && ok_; }

  /// Exactly so many digits, with a value of at most `most`.
  int number(std::size_t digits, int most) {
    int value = 0;
    ok_ = ok_ && rest_.size() >= digits;
    for (std::size_t i = 0; ok_ && i < digits; ++i) {
      ok_ = is_digit(rest_[i]);
      value = 10 * value + (rest_[i] - '0');
    }
    ok_ = ok_ && value <= most;
    if (ok_) rest_.remove_prefix(digits);
    return value;
  }
  /// The digits that follow, at least one.
  std::string_view digits() {
    std::size_t count = 0;
    while (count < rest_.size() && is_digit(rest_[count])) ++count;
    ok_ = ok_ && count > 0;
    const std::string_view found = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return found;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// The seconds east of Greenwich; nothing where there is no zone.
std::optional<std::int64_t> take_zone(Scanner& text) {
  text.take(" ");
  if (text.take("Z") || text.take("z") || text.take("UTC")) return 0;
  const bool west = text.next_is('-');
  if (!west && !text.next_is('+')) return std::nullopt;
  text.expect(west ? '-' : '+');
  std::int64_t seconds = 3600 * text.number(2, 23);
  const bool colon = text.take(":");
  if (colon || !text.at_end()) seconds += 60 * text.number(2, 59);
  return west ? -seconds : seconds;
}

}  // namespace

std::optional<DateTime> parse_date(std::string_view given) {
  Scanner text(given);
  const std::chrono::year year(text.number(4, 9999));
  text.expect('-');
  const std::chrono::month month(static_cast<unsigned>(text.number(2, 12)));
  text.expect('-');
  const std::chrono::day day(static_cast<unsigned>(text.number(2, 31)));
  const std::chrono::year_month_day date(year, month, day);
  if (!text.ok() || !date.ok()) return std::nullopt;
  std::int64_t seconds =
      std::int64_t{86400} * std::chrono::sys_days(date).time_since_epoch().count();
  if (text.at_end()) return DateTime{static_cast<double>(seconds), /*has_zone=*/false};

  if (!text.take("T") && !text.take("t")) text.expect(' ');
  seconds += 3600 * text.number(2, 23);
  text.expect(':');
  seconds += 60 * text.number(2, 59);
  std::string fraction = "0.";
  if (text.take(":")) {
    seconds += text.number(2, 60);
    if (text.take(".") || text.take(",")) fraction += text.digits();
  }
  const bool ended = text.at_end();
  const std::optional<std::int64_t> east = ended ? std::nullopt : take_zone(text);
  if (!text.ok() || !text.at_end() || (!ended && !east)) return std::nullopt;
  double part = 0;
  std::from_chars(fraction.data(), fraction.data() + fraction.size(), part);
  return DateTime{static_cast<double>(seconds - east.value_or(0)) + part, east.has_value()};
}

}  // namespace curnm
