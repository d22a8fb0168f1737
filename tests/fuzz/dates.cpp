#include "curnm/base/dates.h"

#include <cmath>

#include "fuzz/target.h"

// Dates: nothing, or an instant between the years 0 and 9999 that an added zone does not change.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(text_of(data, size));
  const std::optional<DateTime> date = parse_date(text);
  if (!date) return 0;
  constexpr double kDay = 86400;
  constexpr double kFirst = -62167219200;  // 0000-01-01
  constexpr double kLast = 253402300800;   // 10000-01-01
  require(date->seconds >= kFirst - kDay && date->seconds <= kLast + kDay, "out of range");
  require(text.size() >= 10, "too short for a date");
  if (date->has_zone) return 0;
  const std::string zoned = (text.size() == 10 ? text + "T00:00" : text) + "Z";
  const std::optional<DateTime> again = parse_date(zoned);
  require(again && again->has_zone, "no zone may follow");
  require(again->seconds == date->seconds, "the zone UTC changes it");
  return 0;
}

}  // namespace curnm::fuzz
