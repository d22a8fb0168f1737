#include "curnm/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "curnm/base/parallel.h"
#include "curnm/base/types.h"
#include "curnm/kernels/rows.h"
#include "curnm/kernels/simd.h"

namespace curnm::kernels {
namespace {

constexpr std::int64_t kGrain = 32;  // minimum roots per thread

void clear(float* values, std::int64_t count) {
  if (count > 0) std::memset(values, 0, index(count) * sizeof(float));  // null if count is 0
}

/// What belongs to the neighbour in one slot.
struct Slot {
  const float* key;
  const float* value;
  const float* phi;
  const float* edge;
};

CURNM_INLINE Slot slot_of(const AttentionInput& in, std::int64_t slot) {
  const float* kv = in.kv + in.rows[index(slot)] * 2 * in.width;
  return {kv, kv + in.width, in.phi + slot * in.time_width,
          in.edge_width > 0 ? in.edges + in.features[index(slot)] * in.edge_width : nullptr};
}

CURNM_KERNEL void attend_root(const AttentionInput& in, const AttentionOutput& out,
                              std::int64_t a) {
  const std::int64_t r = in.roots[index(a)];
  const std::int64_t head_width = in.width / in.heads;
  const float scale = 1 / std::sqrt(static_cast<float>(head_width));
  const std::int64_t query = in.queries[index(r)];
  const std::int64_t count = in.counts[index(r)];
  float* weights = out.weights + a * in.neighbors * in.heads;  // [K,H]
  clear(out.values + a * in.width, in.width);
  clear(out.times + a * in.heads * in.time_width, in.heads * in.time_width);
  clear(out.edges + a * in.heads * in.edge_width, in.heads * in.edge_width);
  clear(weights, in.neighbors * in.heads);
  for (std::int64_t h = 0; h < in.heads; ++h) {
    const float* q = in.q + query * in.width + h * head_width;
    const float* qt = in.qt + (query * in.heads + h) * in.time_width;
    const float* qe = in.qe + (query * in.heads + h) * in.edge_width;
    float largest = -INFINITY;
    for (std::int64_t j = 0; j < count; ++j) {
      const Slot slot = slot_of(in, r * in.neighbors + j);
      DotSum score;
      score.add(q, slot.key + h * head_width, head_width);
      score.add(qt, slot.phi, in.time_width);
      score.add(qe, slot.edge, in.edge_width);
      float& weight = weights[j * in.heads + h];
      weight = score.value() * scale;
      largest = std::max(largest, weight);
    }
    float sum = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      float& weight = weights[j * in.heads + h];
      weight = std::exp(weight - largest);
      sum += weight;
    }
    float* values = out.values + a * in.width + h * head_width;
    float* times = out.times + (a * in.heads + h) * in.time_width;
    float* edges = out.edges + (a * in.heads + h) * in.edge_width;
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t at = j * in.heads + h;
      weights[at] /= sum;
      const float kept = in.mask == nullptr
                             ? weights[at]
                             : weights[at] * in.mask[r * in.neighbors * in.heads + at];
      const Slot slot = slot_of(in, r * in.neighbors + j);
      axpy(kept, slot.value + h * head_width, values, head_width);
      axpy(kept, slot.phi, times, in.time_width);
      axpy(kept, slot.edge, edges, in.edge_width);
    }
  }
}

/// What the passes over queries and over neighbours share: per root and slot the gradient of
/// the score and the weight after dropout. [A,K,H] each
struct SlotGradients {
  std::vector<float> scores;
  std::vector<float> kept;
};

CURNM_KERNEL void score_gradients(const AttentionInput& in, const AttentionIncoming& incoming,
                                  std::int64_t a, SlotGradients& out) {
  const std::int64_t head_width = in.width / in.heads;
  const float scale = 1 / std::sqrt(static_cast<float>(head_width));
  const std::int64_t r = in.roots[index(a)];
  const std::int64_t count = in.counts[index(r)];
  const std::int64_t slots = in.neighbors * in.heads;
  const float* weights = incoming.weights + incoming.computed[index(a)] * slots;
  const float* mask = in.mask == nullptr ? nullptr : in.mask + r * slots;
  float* scores = out.scores.data() + a * slots;
  float* kept = out.kept.data() + a * slots;
  for (std::int64_t h = 0; h < in.heads; ++h) {
    const float* values = incoming.values + a * in.width + h * head_width;
    const float* times = incoming.times + (a * in.heads + h) * in.time_width;
    const float* edges = incoming.edges + (a * in.heads + h) * in.edge_width;
    float mean = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t at = j * in.heads + h;
      const Slot slot = slot_of(in, r * in.neighbors + j);
      DotSum gradient;
      gradient.add(values, slot.value + h * head_width, head_width);
      gradient.add(times, slot.phi, in.time_width);
      gradient.add(edges, slot.edge, in.edge_width);
      const float factor = mask == nullptr ? 1 : mask[at];
      kept[at] = weights[at] * factor;
      scores[at] = gradient.value() * factor;
      mean += weights[at] * scores[at];
    }
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t at = j * in.heads + h;
      scores[at] = weights[at] * (scores[at] - mean) * scale;
    }
  }
}

CURNM_KERNEL void query_gradient(const AttentionInput& in, std::span<const std::int32_t> members,
                                 const SlotGradients& slots, std::int64_t query,
                                 const AttentionGradient& out) {
  const std::int64_t head_width = in.width / in.heads;
  float* q = out.q + query * in.width;
  float* qt = out.qt + query * in.heads * in.time_width;
  float* qe = out.qe + query * in.heads * in.edge_width;
  clear(q, in.width);
  clear(qt, in.heads * in.time_width);
  clear(qe, in.heads * in.edge_width);
  for (std::int32_t a : members) {
    const std::int64_t r = in.roots[index(a)];
    const float* scores = slots.scores.data() + a * in.neighbors * in.heads;
    for (std::int64_t j = 0; j < in.counts[index(r)]; ++j) {
      const Slot slot = slot_of(in, r * in.neighbors + j);
      for (std::int64_t h = 0; h < in.heads; ++h) {
        const float score = scores[j * in.heads + h];
        axpy(score, slot.key + h * head_width, q + h * head_width, head_width);
        axpy(score, slot.phi, qt + h * in.time_width, in.time_width);
        axpy(score, slot.edge, qe + h * in.edge_width, in.edge_width);
      }
    }
  }
}

CURNM_KERNEL void neighbor_gradient(const AttentionInput& in, const AttentionIncoming& incoming,
                                    std::span<const std::int32_t> members,
                                    const SlotGradients& slots, float* kv) {
  const std::int64_t head_width = in.width / in.heads;
  clear(kv, 2 * in.width);
  for (std::int32_t member : members) {
    const std::int64_t a = member / in.neighbors;
    const std::int64_t j = member % in.neighbors;
    const std::int64_t r = in.roots[index(a)];
    const float* q = in.q + in.queries[index(r)] * in.width;
    const float* values = incoming.values + a * in.width;
    for (std::int64_t h = 0; h < in.heads; ++h) {
      const std::int64_t at = (a * in.neighbors + j) * in.heads + h;
      axpy(slots.scores[index(at)], q + h * head_width, kv + h * head_width, head_width);
      axpy(slots.kept[index(at)], values + h * head_width, kv + in.width + h * head_width,
           head_width);
    }
  }
}

/// The used slots of the roots by the row of their neighbour: member a·K + j.
RowGroups slots_by_row(const AttentionInput& in, std::int64_t num_rows) {
  // Unused slots refer to an extra row that is never read.
  std::vector<std::int64_t> rows(in.roots.size() * index(in.neighbors), num_rows);
  for (std::size_t a = 0; a < in.roots.size(); ++a) {
    const std::int64_t* first = in.rows.data() + in.roots[a] * in.neighbors;
    std::copy_n(first, in.counts[index(in.roots[a])], rows.data() + a * index(in.neighbors));
  }
  return RowGroups::of(rows, num_rows + 1);
}

}  // namespace

void attend(const AttentionInput& in, const AttentionOutput& out) {
  parallel_for(std::ssize(in.roots), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t a = begin; a < end; ++a) attend_root(in, out, a);
  });
}

void attend_backward(const AttentionInput& in, const AttentionIncoming& incoming,
                     const AttentionGradient& out) {
  const std::int64_t active = std::ssize(in.roots);
  SlotGradients slots;
  slots.scores.resize(index(active * in.neighbors * in.heads));
  slots.kept.resize(slots.scores.size());
  parallel_for(active, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t a = begin; a < end; ++a) score_gradients(in, incoming, a, slots);
  });
  std::vector<std::int64_t> queries;
  queries.reserve(index(active));
  for (std::int64_t r : in.roots) queries.push_back(in.queries[index(r)]);
  const RowGroups by_query = RowGroups::of(queries, out.num_queries);
  const RowGroups by_row = slots_by_row(in, out.num_rows);
  parallel_groups(by_query, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t query = begin; query < end; ++query) {
      query_gradient(in, by_query.of_target(query), slots, query, out);
    }
  });
  parallel_groups(by_row, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < std::min(end, out.num_rows); ++row) {
      neighbor_gradient(in, incoming, by_row.of_target(row), slots, out.kv + row * 2 * in.width);
    }
  });
}

}  // namespace curnm::kernels
