#pragma once

#include <cstdint>
#include <span>

#include "curnm/base/column.h"
#include "curnm/base/types.h"

namespace curnm {

/// A temporal network: interactions (src, dst, time) in the order in which they happened.
///
/// Invariants (checked by `validate`): the columns have equal length, times are finite and never
/// decrease, ids are in 0 .. num_nodes-1. The position of an event is its EventId. Nodes without
/// events are allowed. Immutable and cheap to copy, hence shareable between threads.
struct EventLog {
  Column<NodeId> src;      // [E]
  Column<NodeId> dst;      // [E]
  Column<Timestamp> time;  // [E]
  NodeId num_nodes = 0;    // N

  std::int64_t size() const { return time.size(); }
};

/// Throws Error naming the first event that breaks an invariant.
void validate(const EventLog& log);
/// The same for the times of events that follow one at `previous`; `first` is the number of the
/// first of them.
void check_order(std::span<const Timestamp> times, Timestamp previous, EventId first);

/// The events `ids` alone, in that order. REQUIRES: ids ascend. The result numbers its events anew.
EventLog select(const EventLog& log, std::span<const EventId> ids);

/// The first `events` events.
EventLog head(const EventLog& log, std::int64_t events);

/// True when no node is both a source and a destination.
bool is_bipartite(const EventLog& log);

/// True when there is a self-loop.
bool has_loops(const EventLog& log);

/// The median step between consecutive distinct times; 0 where all are equal.
Timestamp median_step(const EventLog& log);

}  // namespace curnm
