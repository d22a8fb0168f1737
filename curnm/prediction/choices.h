#pragma once

#include <vector>

#include "curnm/prediction/top_query.h"
#include "curnm/sampling/past.h"

namespace curnm {

/// What may be predicted for sources at one time. Looking up a source costs its choices and its own
/// past. Not thread-safe.
class Choices {
 public:
  /// `destinations`: distinct, ascending. `loops`: whether a node may choose itself. REQUIRES: what
  /// `past` points to outlives this object.
  Choices(const Past& past, NodeId num_nodes, std::vector<NodeId> destinations, bool loops,
          Timestamp t)
      : past_(past),
        destinations_(std::move(destinations)),
        loops_(loops),
        t_(t),
        marks_(index(num_nodes), 0) {}

  NodeId num_nodes() const { return static_cast<NodeId>(marks_.size()); }
  /// Those of a source, ascending.
  std::vector<NodeId> of(NodeId src, Seen seen, Among among);

 private:
  Past past_;
  std::vector<NodeId> destinations_;
  bool loops_;
  Timestamp t_;
  std::vector<char> marks_;  // [N]: all 0 between calls
};

}  // namespace curnm
