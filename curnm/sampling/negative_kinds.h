#pragma once

#include <array>
#include <vector>

#include "curnm/sampling/candidates.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/past.h"

namespace curnm {

/// How many negatives of each kind belong to a positive, on average.
using KindCounts = std::array<double, kCandidateKinds>;

/// Draws negatives of every kind but kHard for training events: never a pair that has an event at
/// that very time.
class NegativeKinds {
 public:
  /// REQUIRES: events and past, both of the training, outlive this object; at least two
  /// destinations.
  NegativeKinds(const EventLog& events, const Past& past, std::vector<NodeId> destinations);

  /// For each positive of the batch, the asked number of each kind, one kind after the other (a
  /// fraction is one more with that probability); fewer where there are not so many, and random
  /// destinations in place of former partners where a source has none. Draws of event e come from
  /// key.split(e) and the kind alone.
  ExtraPairs draw(const EventBatch& batch, const KindCounts& counts, const Rng& key) const;

 private:
  struct Row;
  void add(CandidateKind kind, std::int64_t count, Row& row) const;

  const EventLog& events_;
  Past past_;
  std::vector<NodeId> sources_;
  std::vector<NodeId> destinations_;
};

}  // namespace curnm
