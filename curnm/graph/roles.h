#pragma once

#include <cstdint>
#include <vector>

#include "curnm/graph/activity.h"
#include "curnm/graph/temporal_graph.h"

namespace curnm {

/// Which of a node's events it began (as source) and which it received (as destination), for any
/// prefix of them. A self-loop counts as both.
///
/// Running counts beside the entries of a T-CSR: 8 bytes per entry, O(log degree) per question.
/// Immutable but for `append`.
class Roles {
 public:
  /// `graph` is one of the log, or of some of its events. REQUIRES: fewer than 2^31 events of a
  /// node; the graph outlives this object.
  Roles(const EventLog& log, const TemporalGraph& graph);

  /// Of a node's first entries, as TemporalGraph::before returns them.
  Activity as_source(TemporalGraph::Range entries) const { return find(as_source_, entries); }
  Activity as_destination(TemporalGraph::Range entries) const {
    return find(as_destination_, entries);
  }

  /// Follows TemporalGraph::append: the event that went there.
  void append(NodeId src, NodeId dst, const TemporalGraph::Appended& appended);

  void visit_memory(const PageVisitor& visit) const;

 private:
  using Counts = Pages<std::int32_t>;

  /// REQUIRES: `placed` is the newest entry of `node`.
  void put_counts(NodeId node, const PlacedEntry& placed, bool is_source, bool is_destination);
  Activity find(const Counts& counts, TemporalGraph::Range entries) const;

  const TemporalGraph* graph_;
  Counts as_source_;  // [slots], of the node's entries up to this one
  Counts as_destination_;
};

}  // namespace curnm
