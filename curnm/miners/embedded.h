#pragma once

#include <torch/torch.h>

#include <vector>

#include "curnm/nn/fused.h"
#include "curnm/sampling/candidates.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/questions.h"

namespace curnm {

/// The distinct (node, time) questions of a batch: sources, destinations, candidates and extra
/// pairs, each at the time of its positive. With `Embedded` the only code that knows how they are
/// laid out.
class BatchRoots {
 public:
  BatchRoots(const EventBatch& batch, const Candidates& candidates);

  Roots roots() const { return questions_.roots(); }

 private:
  friend class Embedded;
  Questions questions_;  // [R]
  // As in Embedded.
  std::vector<std::int64_t> sources_;
  std::vector<std::int64_t> source_;
  std::vector<std::int64_t> extra_source_;
  std::vector<std::int64_t> dst_;
  std::vector<std::int64_t> candidates_;
  std::vector<std::int64_t> extra_dst_;
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

  torch::Tensor z;             // [R,D]
  torch::Tensor sources;       // [S], rows of z: the sources of all links, each once
  torch::Tensor source;        // [B], of `sources`: that of each positive
  torch::Tensor extra_source;  // [X], of `sources`
  torch::Tensor dst;           // [B], rows of z
  torch::Tensor candidates;    // [B·M], rows of z: candidate j of positive i at i·M + j
  torch::Tensor extra_dst;     // [X], rows of z

  Path path;

  torch::Tensor rows(const torch::Tensor& which) const { return select_rows(z, which, path); }
};

}  // namespace curnm
