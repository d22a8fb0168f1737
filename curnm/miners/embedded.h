#pragma once

#include <torch/torch.h>

#include <vector>

#include "curnm/nn/fused.h"
#include "curnm/sampling/candidates.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/neighbor_sampler.h"

namespace curnm {

/// The distinct (node, time) questions of a batch: sources, destinations, candidates and extra
/// pairs, each at the time of its positive. With `Embedded` the only code that knows how they are
/// laid out.
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
  std::vector<std::int64_t> candidates_;  // [B·M]
  std::vector<std::int64_t> extra_src_;   // [X]
  std::vector<std::int64_t> extra_dst_;   // [X]
};

/// The embeddings of a batch, each once, and which of them are for what.
struct Embedded {
  /// z: the embeddings of roots.roots().
  Embedded(torch::Tensor z, const BatchRoots& roots, Path path = Path::kFast);

  /// The same with only the candidates at the positions `chosen`, and only the embeddings that are
  /// still needed: what is not chosen costs nothing on the way back.
  Embedded restricted(const std::vector<std::int64_t>& chosen) const;
  /// The same without gradients.
  Embedded detached() const;

  torch::Tensor z;           // [R,D]
  torch::Tensor src;         // [B], rows of z
  torch::Tensor dst;         // [B]
  torch::Tensor candidates;  // [B·M]: candidate j of positive i at i·M + j
  torch::Tensor extra_src;   // [X]
  torch::Tensor extra_dst;   // [X]

  Path path;

  torch::Tensor rows(const torch::Tensor& which) const { return select_rows(z, which, path); }
};

}  // namespace curnm
