#pragma once

#include <algorithm>
#include <vector>

#include "curnm/base/types.h"

namespace curnm {

/// Each once, ascending.
inline std::vector<NodeId> distinct_nodes(std::vector<NodeId> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace curnm
