#include "curnm/sampling/walk_sketch.h"

#include <algorithm>
#include <cmath>

#include "curnm/base/parallel.h"
#include "curnm/base/rng.h"

namespace curnm {
namespace {

constexpr auto kWidth = static_cast<std::size_t>(WalkSketch::kWidth);

float dot(const float* a, const float* b) {
  // Eight sums at a time, in a fixed order, which the compiler vectorises.
  std::array<float, 8> sums = {};
  for (std::size_t i = 0; i < kWidth; i += sums.size()) {
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += a[i + j] * b[i + j];
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace

WalkSketch::WalkSketch(const Options& options)
    : options_(options), fixed_(index(options.num_nodes) * kWidth) {
  // Rademacher: entries ±1/sqrt(d), from bits of a generator keyed by the node.
  const float entry = 1 / std::sqrt(static_cast<float>(kWidth));
  parallel_for(options.num_nodes, /*grain=*/256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t node = begin; node < end; ++node) {
      Rng rng(options.seed, Stream::kWalkSketch, 0, static_cast<std::uint64_t>(node));
      float* out = fixed_.data() + index(node) * kWidth;
      for (std::size_t i = 0; i < kWidth; ++i) out[i] = rng.below(2) == 0 ? entry : -entry;
    }
  });
  forget();
}

void WalkSketch::forget() {
  vectors.assign(index(options_.num_nodes) * kSteps * kWidth, 0);
  times.assign(index(options_.num_nodes), kNever);
  pending.clear();
}

const float* WalkSketch::vector(NodeId node, std::int64_t l) const {
  if (l == 0) return fixed_.data() + index(node) * kWidth;
  return vectors.data() + (index(node) * kSteps + index(l - 1)) * kWidth;
}

void WalkSketch::apply(const Event& event) {
  const auto decay_to_now = [&](NodeId node) {
    Timestamp& last = times[index(node)];
    if (last != kNever && options_.decay > 0) {
      const double dt = event.time - last;
      for (std::size_t l = 0; l < kSteps; ++l) {
        const auto factor =
            static_cast<float>(std::exp(-options_.decay * static_cast<double>(l + 1) * dt));
        float* values = vectors.data() + (index(node) * kSteps + l) * kWidth;
        for (std::size_t i = 0; i < kWidth; ++i) values[i] *= factor;
      }
    }
    last = event.time;
  };
  decay_to_now(event.src);
  if (event.dst == event.src) return;
  decay_to_now(event.dst);
  // From the longest walks down, so that either end takes up what the other had before.
  for (std::int64_t l = kSteps; l >= 1; --l) {
    const auto own = [&](NodeId node) {
      return vectors.data() + (index(node) * kSteps + index(l - 1)) * kWidth;
    };
    const float* of_src = vector(event.src, l - 1);
    const float* of_dst = vector(event.dst, l - 1);
    float* src = own(event.src);
    float* dst = own(event.dst);
    for (std::size_t i = 0; i < kWidth; ++i) {
      src[i] += of_dst[i];
      dst[i] += of_src[i];
    }
  }
}

void WalkSketch::observe(const EventBatch& batch) {
  for (std::size_t i = 0; i < batch.src.size(); ++i) {
    if (!pending.empty() && pending.back().time < batch.time[i]) {
      for (const Event& event : pending) apply(event);
      pending.clear();
    }
    pending.push_back({batch.src[i], batch.dst[i], batch.time[i]});
  }
}

std::vector<float> WalkSketch::of_pairs(const Links& links) const {
  std::vector<float> rows(index(links.size()) * index(kStatistics));
  parallel_for(links.size(), /*grain=*/128, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t link = begin; link < end; ++link) {
      std::array<const float*, kVectors> all;
      std::array<double, kVectors> decay;
      const Timestamp t = links.time()[index(link)];
      const std::array<NodeId, 2> ends = {links.src()[index(link)], links.dst()[index(link)]};
      std::size_t at = 0;
      for (const NodeId node : ends) {
        const Timestamp last = times[index(node)];
        const double dt = last == kNever ? 0 : std::max(t - last, 0.0);
        for (std::int64_t l = 0; l <= kSteps; ++l, ++at) {
          all[at] = vector(node, l);
          decay[at] = l == 0 || options_.decay == 0
                          ? 1
                          : std::exp(-options_.decay * static_cast<double>(l) * dt);
        }
      }
      float* out = rows.data() + index(link) * index(kStatistics);
      for (std::size_t a = 0; a < all.size(); ++a) {
        for (std::size_t b = a; b < all.size(); ++b) {
          const double product = dot(all[a], all[b]) * decay[a] * decay[b];
          *out++ = static_cast<float>(std::log1p(std::max(product, 0.0)));
        }
      }
    }
  });
  return rows;
}

}  // namespace curnm
