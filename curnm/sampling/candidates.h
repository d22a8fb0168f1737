#pragma once

#include <cstdint>
#include <vector>

#include "curnm/base/types.h"
#include "curnm/sampling/question.h"

namespace curnm {

/// Where a negative came from.
enum class CandidateKind : std::uint8_t {
  kRandom,      // a random destination of the same source
  kHistorical,  // a former partner of the source; a random destination where it has none
  kHard,        // kept because it was hard
  kPopular,     // the destination of a recent event of others
  kRandomPair,  // both ends drawn at random
  kFormerPair,  // a pair that met before
  kNewPair,     // a pair that met for the first time lately
};
inline constexpr std::size_t kCandidateKinds = 7;

/// The question that a negative of this kind is a wrong answer to. A hard one answers the question
/// that its miner kept it for.
constexpr Question question_of(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::kHistorical:
      return Question::kPartner;
    case CandidateKind::kRandomPair:
    case CandidateKind::kFormerPair:
      return Question::kPair;
    case CandidateKind::kNewPair:
      return Question::kNewPair;
    default:
      return Question::kDestination;
  }
}

/// Whether an output for this question learns from negatives of the kind. That of new pairs learns
/// from all pairs: how old a pair is when it is new differs from one period to the next.
constexpr bool teaches(CandidateKind kind, Question question) {
  return question_of(kind) == question ||
         (question == Question::kNewPair && question_of(kind) == Question::kPair);
}

/// Further negatives beside the candidates, each at the time of a positive. Ascending in `rows`.
struct ExtraPairs {
  std::vector<std::int64_t> rows;    // [X], index of the positive whose time is used
  std::vector<NodeId> src;           // [X]
  std::vector<NodeId> dst;           // [X]
  std::vector<CandidateKind> kinds;  // [X]; empty where the miner does not tell them apart

  std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
  void append(const ExtraPairs& others);
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
