#pragma once

#include "curnm/graph/event_log.h"
#include "curnm/sampling/links.h"

namespace curnm {

/// What the scales of inputs are fitted to: some training events, evenly spread, each beside a
/// random destination of its source.
struct TypicalLinks {
  EventLog events;  // all training events
  Links links;
};
TypicalLinks typical_links(const EventLog& events, std::span<const NodeId> destinations,
                           std::uint64_t seed);

}  // namespace curnm
