#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "curnm/base/options.h"
#include "curnm/data/dataset.h"

namespace curnm {

/// A synthetic network with known truth. Destinations belong to communities; each source prefers
/// one community at a time and moves on to the next as time passes (positive shift), may repeat its
/// last choice (recency), and sometimes chooses at random (noise).
struct SyntheticOptions {
  std::int64_t nodes = 1000;
  std::int64_t events = 20000;
  std::int64_t communities = 10;
  double drift = 4;                 // moves of each source over the whole span
  double repeat = 0.1;              // probability of choosing the last partner again
  double noise = 0.05;              // probability of choosing any community
  double source_share = 0.6;        // of the nodes, where the network is bipartite
  bool one_mode = false;            // every node is source and destination
  double span = 30 * 86400.0;       // seconds
  std::int64_t distinct_times = 0;  // 0: random seconds; otherwise that many equal steps
  std::int64_t edge_features = 0;
  std::uint64_t seed = 0;

  void fields(const FieldVisitor& visit);
};

struct SyntheticPreset {
  std::string_view name;
  std::string_view summary;
  SyntheticOptions options;
};
std::span<const SyntheticPreset> synthetic_presets();

/// Throws UsageError for values out of range. The same options give the same network everywhere.
Dataset generate(const SyntheticOptions& options, std::string_view name);

/// The truth behind `generate`: the community that `source` prefers at time t.
std::int32_t preferred_community(const SyntheticOptions& options, NodeId source, Timestamp t);

}  // namespace curnm
