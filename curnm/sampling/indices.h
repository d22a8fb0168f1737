#pragma once

#include "curnm/sampling/past.h"
#include "curnm/sampling/transitions.h"

namespace curnm {

/// Everything that may be looked up about the events of a log. Stays where it was made: a Past
/// points into it.
class Indices {
 public:
  explicit Indices(const EventLog& log)
      : graph(log),
        roles(log, graph),
        pairs(log),
        partners(log, Partnership::kMutual),
        transitions(log) {}
  /// Of some events of the log: `ids`, ascending, and the same as a log of their own.
  Indices(const EventLog& log, std::span<const EventId> ids, const EventLog& selected)
      : graph(log, ids),
        roles(log, graph),
        pairs(selected),
        partners(selected, Partnership::kMutual),
        transitions(selected) {}
  Indices(const Indices&) = delete;
  Indices& operator=(const Indices&) = delete;

  Past past() const { return {&graph, &roles, &pairs, &partners, &transitions.history()}; }

  /// One more event at the end of the log; nodes that are new come with it. REQUIRES: nobody reads
  /// meanwhile.
  void append(NodeId src, NodeId dst, Timestamp time, EventId event) {
    roles.append(src, dst, graph.append(src, dst, time, event));
    pairs.append(src, dst, time);
    partners.append(src, dst, time);
    transitions.append(src, dst, time);
  }

  void visit_memory(const PageVisitor& visit) const {
    graph.visit_memory(visit);
    roles.visit_memory(visit);
    pairs.visit_memory(visit);
    partners.visit_memory(visit);
    transitions.history().visit_memory(visit);
  }

  TemporalGraph graph;  // entries have the event numbers of the log
  Roles roles;
  History pairs;
  History partners;
  Transitions transitions;
};

}  // namespace curnm
