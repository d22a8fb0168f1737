#pragma once

#include <vector>

#include "curnm/curriculum/hard_cache.h"
#include "curnm/graph/temporal_graph.h"
#include "curnm/sampling/random_pairs.h"

namespace curnm {

/// How many candidates of each kind a pool has.
struct PoolShape {
  std::int64_t hard = 0;
  std::int64_t historical = 0;
  std::int64_t random = 0;

  std::int64_t size() const { return hard + historical + random; }
};
/// Eq. (1): round(gamma_hist·M) historical neighbours, the rest random.
PoolShape early_pool(std::int64_t size, double gamma_hist);
/// Eq. (4): M/2 hard negatives, the other half in the proportion of the early pool.
PoolShape late_pool(std::int64_t size, double gamma_hist);

/// Builds V_u^-, the pool of M candidate negatives of each positive (u, v, t), and the random
/// negatives beside it.
///
/// Candidates of a pool are distinct if the network has enough destinations, and none is a partner
/// of u at t. Historical ones are drawn from H_{u,t}; if it is too small, random ones fill up the
/// pool, and if there are too few destinations, candidates repeat.
///
/// Random candidates and random negatives of an event are taken from one order of the destinations:
/// each draw is uniform, but most of the nodes are the same, and are embedded once.
class NegativePool {
 public:
  /// REQUIRES: `partners` (mutual) and `graph`, both of the training events, outlive this object.
  NegativePool(const History* partners, const TemporalGraph* graph,
               std::vector<NodeId> destinations, std::int64_t size, double gamma_hist);

  /// How many random negatives are wanted beside the pools of a whole batch.
  struct Beside {
    const RandomPairs* pairs = nullptr;
    std::int64_t count = 0;
  };

  /// `late` may be null: then all pools are early ones. An event without a cache entry gets an
  /// early pool too. Hard candidates come first in a row, in the order of the cache. Draws of event
  /// e come from key.split(e).
  Candidates build(const EventBatch& batch, const HardCache* late, const Rng& key,
                   const Beside& beside) const;
  Candidates build(const EventBatch& batch, const HardCache* late, const Rng& key) const {
    return build(batch, late, key, {});
  }

 private:
  struct Row;
  void fill(const Row& row, const PoolShape& shape, std::span<const NodeId> hard,
            EventDraws& draws) const;

  const History* partners_;
  const TemporalGraph* graph_;
  std::vector<NodeId> destinations_;
  PoolShape early_;
  PoolShape late_;
};

}  // namespace curnm
