#pragma once

#include <string>

#include "curnm/miners/miner.h"
#include "curnm/sampling/random_destinations.h"

namespace curnm {

/// Random negatives at the times of a batch, spread evenly over its positives.
class RandomPairs {
 public:
  /// `corrupt`: "destination" keeps the source of a positive for its negatives, "both" draws one
  /// for them from the sources of the training events, "half" does so for every other negative.
  /// REQUIRES: what the context points to outlives this object.
  RandomPairs(const MinerContext& context, std::string corrupt);

  bool keeps_sources() const { return corrupt_ == "destination"; }

  /// Never events of their source at their time, unless every destination is one. Each source draws
  /// the destinations of row i with key.split(i), as a NegativePool with the same key does: draws
  /// that are uniform each, and mostly the same nodes, which are embedded once.
  ExtraPairs draw(const EventBatch& batch, std::int64_t count, const Rng& key) const;

 private:
  RandomDestinations destinations_;
  std::string corrupt_;
  std::vector<NodeId> sources_;  // empty unless they are drawn
};

}  // namespace curnm
