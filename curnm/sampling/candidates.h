#pragma once

#include <cstdint>
#include <vector>

#include "curnm/base/types.h"

namespace curnm {

/// Where a candidate came from.
enum class CandidateKind : std::uint8_t { kRandom, kHistorical, kHard };

/// Further negatives beside the candidates, each at the time of a positive. Ascending in `rows`.
struct ExtraPairs {
  std::vector<std::int64_t> rows;  // [X], index of the positive whose time is used
  std::vector<NodeId> src;         // [X]
  std::vector<NodeId> dst;         // [X]

  std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
};

/// Negatives that a miner proposes for a batch, before anything is embedded.
struct Candidates {
  std::int64_t width = 0;            // M
  std::vector<NodeId> nodes;         // [B,M]: candidate destinations of each positive
  std::vector<CandidateKind> kinds;  // [B,M]; empty if the miner does not distinguish kinds
  std::vector<Timestamp> met;        // [B,M]: t_{uv-}, the last event of source and candidate
  std::vector<Timestamp> seen;       // [B,M]: t_{v-}, the last event of the candidate
  /// [B]: 1 if the pool is a late one, which begins with the event's cached candidates; empty if
  /// the miner has no such pools.
  std::vector<std::uint8_t> late;
  ExtraPairs extra;
};

}  // namespace curnm
