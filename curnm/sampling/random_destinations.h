#pragma once

#include <span>
#include <vector>

#include "curnm/sampling/history.h"

namespace curnm {

/// Uniformly drawn destinations that are no partners of a source at a time.
class RandomDestinations {
 public:
  /// REQUIRES: `pairs` outlives this object; at least two destinations.
  RandomDestinations(const History* pairs, std::vector<NodeId> destinations)
      : pairs_(pairs), destinations_(std::move(destinations)) {}

  /// Draws k of them into `out`: distinct as long as there are enough, then the same ones again.
  /// Where every destination is a partner of u at t, any destination will do.
  void draw(NodeId u, Timestamp t, std::span<NodeId> out, Rng& rng, DrawScratch& scratch) const {
    NodeId* next = out.data();
    const std::int64_t found =
        draw_absent(*pairs_, destinations_, u, t, static_cast<std::int64_t>(out.size()), rng,
                    scratch, [&](NodeId v) { *next++ = v; });
    for (auto i = static_cast<std::size_t>(found); i < out.size(); ++i) {
      out[i] = found == 0 ? any(rng) : out[i - static_cast<std::size_t>(found)];
    }
  }

  NodeId any(Rng& rng) const { return destinations_[rng.below(destinations_.size())]; }
  std::span<const NodeId> all() const { return destinations_; }

 private:
  const History* pairs_;
  std::vector<NodeId> destinations_;
};

}  // namespace curnm
