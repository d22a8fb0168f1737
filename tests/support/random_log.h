#pragma once

#include <cstdint>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/graph/event_log.h"

namespace curnm::testing {

/// What property tests run on: a small random multigraph with tied times, repeated pairs,
/// self-loops and isolated nodes.
struct RandomLogOptions {
  NodeId nodes = 12;
  std::int64_t events = 80;
  std::int64_t distinct_times = 25;
  bool bipartite = false;  // sources 0 .. nodes/2-1, destinations the others
};

inline EventLog random_log(std::uint64_t seed, const RandomLogOptions& options = {}) {
  Rng rng(seed, Stream::kTest);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(n)));
  };
  // The last node of the range stays isolated.
  const NodeId used = options.nodes - 1;
  const NodeId half = used / 2;
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  for (std::int64_t e = 0; e < options.events; ++e) {
    src.push_back(static_cast<NodeId>(options.bipartite ? below(half) : below(used)));
    dst.push_back(static_cast<NodeId>(options.bipartite ? half + below(used - half) : below(used)));
    time.push_back(static_cast<Timestamp>(e * options.distinct_times / options.events));
  }
  return {std::move(src), std::move(dst), std::move(time), options.nodes};
}

}  // namespace curnm::testing
