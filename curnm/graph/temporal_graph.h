#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "curnm/base/pages.h"
#include "curnm/graph/blocks.h"
#include "curnm/graph/event_log.h"

namespace curnm {

/// Time-sorted adjacency (T-CSR): for each node the events that touch it, in either role, oldest
/// first; events of equal time keep the order of the log. A self-loop is one entry.
///
/// Built in O(N + E), in parallel, with the same result for any thread count. It may grow at its
/// end; apart from that it is immutable.
class TemporalGraph {
 public:
  /// All events of the log, or the given ones (ascending); entries keep the log's event numbers.
  explicit TemporalGraph(const EventLog& log,
                         std::optional<std::span<const EventId>> subset = std::nullopt);

  /// Positions begin .. end-1 of the entry columns.
  using Range = Block;

  NodeId num_nodes() const { return static_cast<NodeId>(blocks_.size()); }
  std::int64_t num_entries() const { return num_entries_; }

  /// All entries of a node. O(1).
  Range all(NodeId node) const { return blocks_[static_cast<std::size_t>(node)]; }
  /// The entries strictly before t. O(log degree).
  Range before(NodeId node, Timestamp t) const;
  /// The entries with from <= time < to. O(log degree).
  Range between(NodeId node, Timestamp from, Timestamp to) const;

  /// The time of the node's latest event strictly before t, in either role; kNever without one.
  Timestamp last_seen(NodeId node, Timestamp t) const;

  // By position, [slots]. As many as entries until the graph grows: then some positions are spare.
  std::span<const NodeId> partners() const { return partners_; }  // the other endpoint
  std::span<const Timestamp> times() const { return times_; }
  std::span<const EventId> events() const { return events_; }

  /// Where the entries of an appended event went.
  struct Appended {
    PlacedEntry of_src;
    PlacedEntry of_dst;  // unused for a self-loop
  };
  /// One more event; nodes that are new come with it. O(1) on average. REQUIRES: it is not earlier
  /// than any event so far; nobody reads meanwhile. Spans and ranges from before are invalid.
  Appended append(NodeId src, NodeId dst, Timestamp time, EventId event);

  void visit_memory(const PageVisitor& visit) const;

 private:
  PlacedEntry put_entry(NodeId node, NodeId partner, Timestamp time, EventId event);

  Pages<Range> blocks_;  // [N]
  BlockRoom room_;
  std::int64_t num_entries_ = 0;
  Pages<NodeId> partners_;
  Pages<Timestamp> times_;
  Pages<EventId> events_;
};

}  // namespace curnm
