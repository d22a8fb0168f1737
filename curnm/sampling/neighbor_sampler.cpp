#include "curnm/sampling/neighbor_sampler.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/sampling/distinct.h"

namespace curnm {
namespace {

// Rows per block of work: large enough to hide the cost of starting a thread.
constexpr std::int64_t kGrain = 128;

/// k distinct positions of begin .. begin+n-1, all of them when there are at most k (Floyd 1987:
/// one draw per position, no retries). Returns how many.
std::int64_t draw_positions(std::int64_t begin, std::int64_t n, std::int64_t k, Rng rng,
                            TakenSet& taken, std::int64_t* out) {
  if (n <= k) {
    std::iota(out, out + n, begin);
    return n;
  }
  taken.reset(k);
  for (std::int64_t last = n - k; last < n; ++last) {
    const auto pick = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(last) + 1));
    const bool fresh = taken.insert(pick);
    if (!fresh) taken.insert(last);
    *out++ = begin + (fresh ? pick : last);
  }
  return k;
}

void resize(Neighbors& layer, std::int64_t rows, std::int64_t width) {
  layer.width = width;
  const auto slots = static_cast<std::size_t>(rows * width);
  layer.nodes.resize(slots);
  layer.times.resize(slots);
  layer.events.resize(slots);
  layer.counts.resize(static_cast<std::size_t>(rows));
}

}  // namespace

NeighborSampler::NeighborSampler(const TemporalGraph& graph, const SamplerOptions& options)
    : graph_(&graph), options_(options) {
  if (options.neighbors < 1) fail("neighbors must be at least 1, not {}", options.neighbors);
  if (options.layers < 1) fail("layers must be at least 1, not {}", options.layers);
}

void NeighborSampler::sample_layer(Roots roots, const Rng& key, const Window& window,
                                   Neighbors& out) const {
  const std::int64_t width = options_.neighbors;
  resize(out, roots.size(), width);
  const NodeId* partners = graph_->partners().data();
  const Timestamp* times = graph_->times().data();
  const EventId* events = graph_->events().data();

  parallel_for(roots.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    TakenSet taken;
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(width));
    for (std::int64_t r = begin; r < end; ++r) {
      const NodeId node = roots.nodes[static_cast<std::size_t>(r)];
      const Timestamp t = roots.times[static_cast<std::size_t>(r)];
      TemporalGraph::Range past;
      if (node != kNoNode) {
        past = window.oldest == -kNever
                   ? graph_->before(node, t - window.newest)
                   : graph_->between(node, t - window.oldest, t - window.newest);
      }
      NodeId* row_nodes = out.nodes.data() + r * width;
      Timestamp* row_times = out.times.data() + r * width;
      EventId* row_events = out.events.data() + r * width;

      std::int64_t count = std::min(past.size(), width);
      if (options_.strategy == SamplingStrategy::kRecent || past.size() <= width) {
        const std::int64_t first = past.end - count;
        std::copy_n(partners + first, count, row_nodes);
        std::copy_n(times + first, count, row_times);
        std::copy_n(events + first, count, row_events);
      } else {
        const Rng of_question = key.split(static_cast<std::uint64_t>(node)).split(bits_of(t));
        count = draw_positions(past.begin, past.size(), width, of_question, taken, drawn.data());
        for (std::int64_t j = 0; j < count; ++j) {
          const std::int64_t entry = drawn[static_cast<std::size_t>(j)];
          row_nodes[j] = partners[entry];
          row_times[j] = times[entry];
          row_events[j] = events[entry];
        }
      }
      std::fill(row_nodes + count, row_nodes + width, kNoNode);
      std::fill(row_times + count, row_times + width, Timestamp{0});
      std::fill(row_events + count, row_events + width, kNoEvent);
      out.counts[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(count);
    }
  });
}

void NeighborSampler::sample(Roots roots, const Rng& key, const Window& window,
                             std::vector<Neighbors>& layers) const {
  layers.resize(static_cast<std::size_t>(options_.layers));
  std::vector<Timestamp> root_times;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    sample_layer(roots, key.split(layer), window, layers[layer]);
    if (layer + 1 == layers.size()) break;
    Roots next{layers[layer].nodes, layers[layer].times};
    if (options_.layer_time == LayerTime::kRoot) {
      std::vector<Timestamp> repeated;
      repeated.reserve(next.nodes.size());
      for (Timestamp t : roots.times) {
        repeated.insert(repeated.end(), static_cast<std::size_t>(options_.neighbors), t);
      }
      root_times.swap(repeated);  // only now: roots.times may point into the old one
      next.times = root_times;
    }
    roots = next;
  }
}

std::vector<Neighbors> NeighborSampler::sample(Roots roots, const Rng& key,
                                               const Window& window) const {
  std::vector<Neighbors> layers;
  sample(roots, key, window, layers);
  return layers;
}

}  // namespace curnm
