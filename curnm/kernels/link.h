#pragma once

#include <cstdint>
#include <span>

namespace curnm::kernels {

/// The logits of n links from the projections of their two ends: w·ReLU(s + d) + bias.
struct LinkInput {
  std::int64_t width = 0;  // D
  std::int64_t num_sources = 0;
  std::int64_t num_destinations = 0;
  std::span<const std::int64_t> source_of;       // [n]: rows of sources
  std::span<const std::int64_t> destination_of;  // [n]: rows of destinations
  const float* sources = nullptr;                // [num_sources,D]
  const float* destinations = nullptr;           // [num_destinations,D]
  const float* weight = nullptr;                 // [D]

  std::int64_t size() const { return static_cast<std::int64_t>(source_of.size()); }
};
void link_logits(const LinkInput& in, float bias, float* logits);

/// Where to write gradients; null pointers are skipped.
struct LinkGradient {
  float* sources = nullptr;       // [num_sources,D]
  float* destinations = nullptr;  // [num_destinations,D]
  float* weight = nullptr;        // [D]
};
void link_logits_backward(const LinkInput& in, const float* dlogits, const LinkGradient& out);

/// Two logits for each of n links whose destination is split in two: w·ReLU(s + part) + bias, and
/// the same of what is left of the whole, w·ReLU(s + whole - part + rest_bias) + bias. Destinations
/// of `in` are the wholes.
struct SplitInput {
  LinkInput link;
  const float* parts = nullptr;      // [n,D]
  const float* rest_bias = nullptr;  // [D]
};
void split_logits(const SplitInput& in, float bias, float* of_parts, float* of_rests);

struct SplitGradient {
  LinkGradient link;
  float* parts = nullptr;      // [n,D]
  float* rest_bias = nullptr;  // [D]
};
/// REQUIRES: no pointer of `out` is null.
void split_logits_backward(const SplitInput& in, const float* dparts, const float* drests,
                           const SplitGradient& out);

}  // namespace curnm::kernels
