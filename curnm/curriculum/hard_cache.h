#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/base/types.h"

namespace curnm {

/// Scores of a candidate in the last epochs, oldest first; NaN where there is none.
inline constexpr std::size_t kScoreHistory = 5;
using ScoreHistory = std::array<float, kScoreHistory>;
inline constexpr ScoreHistory kNoScores = [] {
  ScoreHistory scores{};
  scores.fill(std::numeric_limits<float>::quiet_NaN());
  return scores;
}();

/// The history with one more score; the oldest is dropped.
ScoreHistory appended(ScoreHistory scores, float score);

/// std(P_uv), of the population; 0 with fewer than two scores.
double deviation(const ScoreHistory& scores);

/// Eq. (3): how likely a candidate is kept, max(p_uv - alpha·std(P_uv), 0).
double keep_weight(double p, double alpha, double deviation);

/// Draws k of the weights' positions without replacement, each in proportion to the remaining
/// weights; zeros are drawn uniformly once only they remain. REQUIRES: at least k weights.
void draw_weighted(std::span<const double> weights, Rng& rng, std::span<std::int64_t> out);

/// V_u^hard: for each training event the M/2 candidates of its pool that the model finds hard, with
/// their scores of the last epochs. Dense arrays, 24 bytes per candidate; nothing depends on the
/// number of nodes.
class HardCache {
 public:
  HardCache(std::int64_t events, std::int64_t slots);

  bool has(std::int64_t event) const { return nodes_[at(event)] != kNoNode; }
  std::span<const NodeId> nodes(std::int64_t event) const {
    return std::span(nodes_).subspan(at(event), slots_);
  }

  /// Keeps candidates of a pool (`nodes`, with the model's probabilities of this epoch) by Eq. (3).
  /// `was_late`: the pool began with this event's cached candidates, which keep their earlier
  /// scores. Returns how many of the kept ones were not in the cache before. Thread-safe for
  /// different events.
  std::int64_t refresh(std::int64_t event, std::span<const NodeId> nodes,
                       std::span<const float> probabilities, bool was_late, double alpha, Rng rng);

  std::int64_t slots() const { return static_cast<std::int64_t>(slots_); }
  /// Events with an entry.
  std::int64_t size() const;

  /// The state of the events begin .. end-1.
  std::span<NodeId> raw_nodes(std::int64_t begin, std::int64_t end) {
    return raw_nodes().subspan(at(begin), at(end - begin));
  }
  std::span<float> raw_scores(std::int64_t begin, std::int64_t end) {
    return raw_scores().subspan(at(begin) * kScoreHistory, at(end - begin) * kScoreHistory);
  }
  /// The whole state, for checkpoints.
  std::span<NodeId> raw_nodes() { return nodes_; }
  std::span<float> raw_scores() { return {scores_.data()->data(), scores_.size() * kScoreHistory}; }

 private:
  std::size_t at(std::int64_t event) const { return static_cast<std::size_t>(event) * slots_; }

  std::size_t slots_;
  std::vector<NodeId> nodes_;         // [E, slots]; kNoNode where there is no entry
  std::vector<ScoreHistory> scores_;  // [E, slots]
};

}  // namespace curnm
