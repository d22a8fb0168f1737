#pragma once

#include "curnm/base/options.h"
#include "curnm/graph/event_log.h"

namespace curnm {

/// A snapshot length that suits a network: together the snapshots span the time in which it has one
/// event per node. At least the median step between distinct times, so that yearly data has yearly
/// snapshots.
double suitable_snapshot_length(const RunFacts& facts, std::int64_t snapshots);

/// The facts that this needs, from the training events and their nodes alone: nothing that exists
/// only later has an influence.
void add_pace(const EventLog& train, RunFacts& facts);

}  // namespace curnm
