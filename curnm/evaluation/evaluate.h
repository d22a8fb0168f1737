#pragma once

#include <span>
#include <vector>

#include "curnm/evaluation/metrics.h"
#include "curnm/evaluation/scorer.h"
#include "curnm/evaluation/task.h"

namespace curnm {

/// The scores of one protocol, row i of both belonging to positive i.
struct ProtocolScores {
  Protocol protocol;
  std::vector<float> positives;
  std::vector<float> negatives;
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
std::vector<float> score_in_blocks(Scorer& scorer, const Pairs& pairs, Timestamp now);

/// The mean reciprocal rank of each positive among `negatives` random destinations that are not
/// partners of its source at its time.
double mean_reciprocal_rank(Scorer& scorer, const EvaluationSet& set, const LinkTask& task,
                            std::int64_t negatives);

}  // namespace curnm
