#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/neighbor_sampler.h"

namespace curnm {

/// Negatives that a miner proposes for a batch, before anything is embedded.
struct Candidates {
  std::int64_t width = 0;     // M
  std::vector<NodeId> nodes;  // [B,M]: destinations to set beside each positive's own
};

/// The distinct (node, time) questions of a batch: sources, destinations and candidates, each at
/// the time of its positive. With `Embedded` the only code that knows how they are laid out.
class BatchRoots {
 public:
  BatchRoots(const EventBatch& batch, const Candidates& candidates);

  Roots roots() const { return {nodes_, times_}; }

 private:
  friend class Embedded;
  std::vector<NodeId> nodes_;             // [R], distinct with their times
  std::vector<Timestamp> times_;          // [R]
  std::vector<std::int64_t> src_;         // [B], rows
  std::vector<std::int64_t> dst_;         // [B]
  std::vector<std::int64_t> candidates_;  // [B,M]
  std::int64_t width_ = 0;
};

/// The embeddings of a batch by what they are for.
class Embedded {
 public:
  /// z: the embeddings of roots.roots(), [R,D].
  Embedded(torch::Tensor z, const BatchRoots& roots);

  torch::Tensor src() const;                // [B,D]
  torch::Tensor dst() const;                // [B,D]
  torch::Tensor candidates() const;         // [B·M,D], candidate j of positive i in row i·M + j
  torch::Tensor candidate_sources() const;  // [B·M,D], the sources of those rows

 private:
  torch::Tensor z_;
  torch::Tensor src_;
  torch::Tensor dst_;
  torch::Tensor candidates_;
  std::int64_t width_;
};

}  // namespace curnm
