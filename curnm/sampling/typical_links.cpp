#include "curnm/sampling/typical_links.h"

#include "curnm/base/rng.h"

namespace curnm {

TypicalLinks typical_links(const EventLog& events, std::span<const NodeId> destinations,
                           std::uint64_t seed) {
  constexpr EventId kMost = 10'000;
  const EventId count = std::min(events.size(), kMost);
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  const auto add = [&](EventId e, NodeId destination) {
    src.push_back(events.src[e]);
    dst.push_back(destination);
    time.push_back(events.time[e]);
  };
  for (EventId i = 0; i < count; ++i) {
    const auto e = static_cast<EventId>(Wide(i) * Wide(events.size()) / Wide(count));
    Rng rng(seed, Stream::kTypicalLinks, 0, static_cast<std::uint64_t>(e));
    add(e, events.dst[e]);
    add(e, destinations[rng.below(destinations.size())]);
  }
  return {events, Links(Pairs{src, dst, time})};
}

}  // namespace curnm
