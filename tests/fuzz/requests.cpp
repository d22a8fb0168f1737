#include "curnm/http/requests.h"

#include <cmath>

#include "fuzz/target.h"

// Bodies and addresses of requests: the first byte says of which kind.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = text_of(data + 1, size - 1);
  const auto allowed = [](Timestamp t) { return std::isfinite(t) && std::abs(t) <= kLargestTime; };
  value_or_error([&] {
    switch (data[0] % 4) {
      case 0:
      case 1: {
        const std::int64_t width = data[0] % 4 == 0 ? 0 : 2;
        const StreamEvents events = parse_events(text, width, /*most=*/100);
        require(events.size() > 0 && events.size() <= 100, "a number of events");
        require(std::ssize(events.features) == events.size() * width, "features");
        for (std::size_t i = 0; i < events.time.size(); ++i) {
          require(allowed(events.time[i]), "a time");
          require(!events.src[i].empty() && !events.dst[i].empty(), "an empty name");
        }
        break;
      }
      case 2: {
        const ScoreRequest request = parse_score(text, /*most=*/100);
        require(request.src.size() == request.dst.size() && !request.src.empty(), "pairs");
        require(!request.time || allowed(*request.time), "a time");
        break;
      }
      default: {
        const TopRequest request = parse_top(parse_target(text).query, /*most=*/50);
        require(request.k >= 1 && request.k <= 50, "k");
        require(!request.time || allowed(*request.time), "a time");
      }
    }
    return 0;
  });
  return 0;
}

}  // namespace curnm::fuzz
