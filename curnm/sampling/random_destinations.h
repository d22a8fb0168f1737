#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "curnm/sampling/history.h"

namespace curnm {

/// Uniformly drawn destinations that have no event with a source in `pairs` at a time. `pairs`
/// decides whether an event in the other direction counts.
class RandomDestinations {
 public:
  /// REQUIRES: `pairs` outlives this object; at least two destinations.
  RandomDestinations(const History* pairs, std::vector<NodeId> destinations)
      : pairs_(pairs), destinations_(std::move(destinations)) {}

  /// Fills `row` from `from` on with nodes that are not in it yet, distinct as long as there are
  /// enough, then repeats those of the row. If no destination is allowed, takes any.
  void draw(NodeId u, Timestamp t, std::span<NodeId> row, Rng& rng, DrawScratch& scratch,
            std::size_t from = 0) const {
    const auto taken = row.first(from);
    const auto out = row.subspan(from);
    NodeId* next = out.data();
    const std::int64_t found = draw_absent(
        *pairs_, destinations_, u, t, static_cast<std::int64_t>(out.size()), rng, scratch,
        [&](NodeId v) { return std::find(taken.begin(), taken.end(), v) == taken.end(); },
        [&](NodeId v) { *next++ = v; });
    const std::size_t filled = from + static_cast<std::size_t>(found);
    for (std::size_t i = filled; i < row.size(); ++i) {
      row[i] = filled == 0 ? any(rng) : row[i - filled];
    }
  }

  NodeId any(Rng& rng) const { return destinations_[rng.below(destinations_.size())]; }
  std::span<const NodeId> all() const { return destinations_; }

 private:
  const History* pairs_;
  std::vector<NodeId> destinations_;
};

}  // namespace curnm
