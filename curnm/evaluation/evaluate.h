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
/// asked protocol and only then observed. So all protocols are answered from the same states, by
/// one replay. Leaves the scorer as after the last event: whoever calls restores what should not
/// change.
std::vector<ProtocolScores> score_protocols(Scorer& scorer, const EvaluationSet& set,
                                            std::span<const Protocol> asked,
                                            std::int64_t batch_size);

/// As `scorer.score`, in parts that fit in memory whatever the number of pairs. REQUIRES: a score
/// does not depend on what else is asked.
std::vector<float> score_in_blocks(Scorer& scorer, const Pairs& pairs, Timestamp now);

/// The mean reciprocal rank of each positive among `negatives` random destinations that are not
/// partners of its source at its time.
double mean_reciprocal_rank(Scorer& scorer, const EvaluationSet& set, const LinkTask& task,
                            std::int64_t negatives);

}  // namespace curnm
