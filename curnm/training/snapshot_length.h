#pragma once

#include "curnm/graph/event_log.h"

namespace curnm {

/// A length for snapshots that suits a network: the time in which it sees one event per node, but
/// at least the median step between its distinct times (so that yearly data has yearly snapshots).
double suitable_snapshot_length(const EventLog& log);

}  // namespace curnm
