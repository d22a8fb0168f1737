#pragma once

#include <span>
#include <vector>

#include "curnm/evaluation/metrics.h"
#include "curnm/evaluation/ranking_negatives.h"
#include "curnm/evaluation/scorer.h"
#include "curnm/evaluation/task.h"

namespace curnm {

/// Scores of positives and negatives, row i of both belonging to positive i.
struct Contest {
  std::vector<float> positives;
  std::vector<float> negatives;
};

/// The scores of one protocol.
struct ProtocolScores {
  Protocol protocol;
  Contest fitting;  // by the output that answers the protocol's question
  Contest single;   // by one score for everything; empty where the scorer has one output only
};

/// One pass over the positives in time order: each batch is scored against the negatives of every
/// requested protocol and only then observed. So one replay serves all protocols, from the same
/// states. Leaves the scorer in its state after the last event: the caller restores what should not
/// change.
std::vector<ProtocolScores> score_protocols(Scorer& scorer, const EvaluationSet& set,
                                            std::span<const Protocol> asked,
                                            std::int64_t batch_size);

/// As `scorer.score`, in blocks, so that any number of pairs fits in memory. REQUIRES: a score does
/// not depend on the other pairs.
Scores score_in_blocks(Scorer& scorer, const Pairs& pairs, Timestamp now);

/// Where true destinations stand among others.
struct Ranking {
  double mrr = 0;               // mean reciprocal rank; ties share the mean of their ranks
  double hits10 = 0;            // share of ranks up to 10
  std::int64_t candidates = 0;  // most others that one was ranked among
};

/// Ranks each positive among the given destinations.
Ranking rank_destinations(Scorer& scorer, const LinkTask& task, const RankingNegatives& negatives);

struct RankingOptions {
  std::int64_t others = 100;
  std::uint64_t seed = 0;
  std::int64_t batch_size = 200;
  /// The number of the first positive, where they continue others: draws are keyed by it.
  std::int64_t first = 0;
};

/// Ranks each positive among `others` random destinations, all of them if there are no more, that
/// are not partners of its source at its time. In blocks: memory does not grow with either.
Ranking rank_destinations(Scorer& scorer, const EvaluationSet& set, const RankingOptions& options);
/// The same with the draws and batches of a task.
Ranking rank_destinations(Scorer& scorer, const EvaluationSet& set, const LinkTask& task,
                          std::int64_t others);

}  // namespace curnm
