#include "curnm/graph/keep.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "curnm/base/error.h"

namespace curnm {
namespace {

constexpr std::int64_t kParts = 4;  // what is kept is forgotten in so many steps

constexpr std::array<std::pair<char, double>, 5> kUnits = {
    {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}}};

}  // namespace

EventId Keep::first(EventId known, Timestamp newest, std::span<const Timestamp> times,
                    EventId begin) const {
  if (everything()) return 0;
  if (events > 0) {
    const std::int64_t step = std::max<std::int64_t>(1, events / kParts);
    return std::max<EventId>(0, known / step * step - events);
  }
  const double step = age / kParts;
  const Timestamp oldest = std::floor(newest / step) * step - age;
  return begin + (std::lower_bound(times.begin(), times.end(), oldest) - times.begin());
}

Keep parse_keep(std::string_view text) {
  if (text.empty()) return {};
  const auto refuse = [&] {
    throw OptionError(OptionError::Kind::kValue, "keep",
                      fmt::format("--keep {}: give a number of events, such as 100000, or an age "
                                  "with its unit, s, m, h, d or w, such as 30d",
                                  text));
  };
  const auto read = [&](std::string_view digits, auto& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || !(value > 0)) refuse();
  };
  Keep keep;
  const auto unit = std::ranges::find(kUnits, text.back(), &std::pair<char, double>::first);
  if (unit == kUnits.end()) {
    read(text, keep.events);
  } else {
    read(text.substr(0, text.size() - 1), keep.age);
    keep.age *= unit->second;
    if (!std::isfinite(keep.age)) refuse();
  }
  return keep;
}

}  // namespace curnm
