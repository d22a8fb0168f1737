#pragma once

#include "curnm/graph/event_log.h"

namespace curnm {

/// A length for snapshots that suits a network: together they span the time in which it sees one
/// event per node. At least the median step between distinct times, so that yearly data has yearly
/// snapshots.
double suitable_snapshot_length(const EventLog& log, std::int64_t snapshots);

}  // namespace curnm
