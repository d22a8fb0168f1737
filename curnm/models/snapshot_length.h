#pragma once

#include "curnm/base/options.h"
#include "curnm/graph/event_log.h"

namespace curnm {

/// A length for snapshots that suits a network: together they span the time in which it sees one
/// event per node. At least the median step between distinct times, so that yearly data has yearly
/// snapshots.
double suitable_snapshot_length(const RunFacts& facts, std::int64_t snapshots);

/// The facts that this needs, from the training events and their nodes alone: what exists only
/// later has no say.
void add_pace(const EventLog& train, RunFacts& facts);

}  // namespace curnm
