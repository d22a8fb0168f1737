#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "curnm/graph/event_log.h"

namespace curnm {

/// Time-sorted adjacency (T-CSR): for each node the events that touch it, in either role, oldest
/// first; events of equal time keep the order of the log. A self-loop is one entry.
///
/// Built in O(N + E), in parallel, with the same result for any thread count. Immutable.
class TemporalGraph {
 public:
  /// All events of the log, or the given ones (ascending); entries keep the log's event numbers.
  explicit TemporalGraph(const EventLog& log,
                         std::optional<std::span<const EventId>> subset = std::nullopt);

  /// Positions begin .. end-1 of the entry columns.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
  };

  NodeId num_nodes() const { return static_cast<NodeId>(offsets_.size()) - 1; }
  std::int64_t num_entries() const { return static_cast<std::int64_t>(partners_.size()); }

  /// All entries of a node. O(1).
  Range all(NodeId node) const {
    const auto row = static_cast<std::size_t>(node);
    return {offsets_[row], offsets_[row + 1]};
  }
  /// The entries strictly before t. O(log degree).
  Range before(NodeId node, Timestamp t) const;
  /// The entries with from <= time < to. O(log degree).
  Range between(NodeId node, Timestamp from, Timestamp to) const;

  /// The time of the node's latest event strictly before t, in either role; kNever without one.
  Timestamp last_seen(NodeId node, Timestamp t) const;

  std::span<const NodeId> partners() const { return partners_; }  // the other endpoint, [entries]
  std::span<const Timestamp> times() const { return times_; }     // [entries]
  std::span<const EventId> events() const { return events_; }     // [entries]

 private:
  std::vector<std::int64_t> offsets_;  // [N+1]
  std::vector<NodeId> partners_;
  std::vector<Timestamp> times_;
  std::vector<EventId> events_;
};

}  // namespace curnm
