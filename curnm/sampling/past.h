#pragma once

#include "curnm/graph/roles.h"
#include "curnm/graph/temporal_graph.h"
#include "curnm/sampling/history.h"

namespace curnm {

/// What may be looked up about a network, always strictly before a time t: the events of a node,
/// its roles in them, the events of a pair, and what nodes do next. REQUIRES: everything it points
/// to outlives its use.
struct Past {
  const TemporalGraph* graph = nullptr;
  const Roles* roles = nullptr;          // in the events of the graph
  const History* pairs = nullptr;        // directed: u -> v
  const History* partners = nullptr;     // mutual: u -> v or v -> u
  const History* transitions = nullptr;  // p -> y: somebody went on from p to y
};

}  // namespace curnm
