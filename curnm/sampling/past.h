#pragma once

#include "curnm/graph/temporal_graph.h"
#include "curnm/sampling/history.h"

namespace curnm {

/// What may be looked up about a network, always strictly before a time t: the events of a node,
/// and those of a pair. REQUIRES: everything it points to outlives its use.
struct Past {
  const TemporalGraph* graph = nullptr;
  const History* pairs = nullptr;     // directed: u -> v
  const History* partners = nullptr;  // mutual: u -> v or v -> u
};

}  // namespace curnm
