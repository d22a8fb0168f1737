#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/graph/temporal_graph.h"

namespace curnm {

/// A number that identifies a node at a time, wherever it occurs: a key for draws about it.
inline std::uint64_t draw_key(NodeId node, Timestamp time) {
  return bits_of(time) ^ static_cast<std::uint64_t>(node) * 0x9e3779b97f4a7c15;
}

/// R queries: which events did `nodes[r]` take part in, strictly before `times[r]`? A node may be
/// kNoNode (padding): it has no neighbours.
struct Roots {
  std::span<const NodeId> nodes;     // [R]
  std::span<const Timestamp> times;  // [R]

  std::int64_t size() const { return static_cast<std::int64_t>(nodes.size()); }
};

/// Up to K neighbours of each of R roots. Row r has counts[r] of them at its front; the rest of the
/// row is padding (kNoNode, time 0, kNoEvent).
struct Neighbors {
  std::int64_t width = 0;            // K
  std::vector<NodeId> nodes;         // [R,K]
  std::vector<Timestamp> times;      // [R,K], of the events
  std::vector<EventId> events;       // [R,K]
  std::vector<std::int32_t> counts;  // [R]

  std::int64_t rows() const { return static_cast<std::int64_t>(counts.size()); }
};

enum class SamplingStrategy {
  kRecent,   // the K newest, oldest of them first
  kUniform,  // K drawn uniformly without replacement, in the order of the draw; the same for the
             // same question, wherever it stands
};

/// The time before which the neighbours of a neighbour are sampled.
enum class LayerTime {
  kEvent,  // before the event that led to it: its state as of that event (TGAT, TGN)
  kRoot,   // before the root's time: all layers look at the same window (snapshots)
};

struct SamplerOptions {
  SamplingStrategy strategy = SamplingStrategy::kRecent;
  std::int64_t neighbors = 10;  // K
  int layers = 1;               // L
  LayerTime layer_time = LayerTime::kEvent;
};

/// The part of the past to sample from, relative to the query time t: [t - oldest, t - newest). The
/// default is all of it.
struct Window {
  Timestamp newest = 0;
  Timestamp oldest = -kNever;

  /// Snapshot `index` of equal length, 0 being the newest. Consecutive snapshots leave no gap.
  static Window snapshot(int index, Timestamp length) {
    return {index * length, (index + 1) * length};
  }
};

/// Neighbour sampling, strictly before each root's time. Stateless: safe to call from any thread.
/// The draw for a root depends on the key, the layer, its node and time alone, so results do not
/// depend on the thread count or on the other roots.
class NeighborSampler {
 public:
  /// REQUIRES: the graph outlives the sampler. Throws Error for neighbors < 1 or layers < 1.
  NeighborSampler(const TemporalGraph& graph, const SamplerOptions& options);

  /// Layer 0 answers the R roots, layer l + 1 answers all R·K^(l+1) slots of layer l. `key`
  /// separates batches and epochs. The buffers in `layers` are reused.
  void sample(Roots roots, const Rng& key, const Window& window,
              std::vector<Neighbors>& layers) const;
  std::vector<Neighbors> sample(Roots roots, const Rng& key, const Window& window = {}) const;

 private:
  void sample_layer(Roots roots, const Rng& key, const Window& window, Neighbors& out) const;

  const TemporalGraph* graph_;
  SamplerOptions options_;
};

}  // namespace curnm
