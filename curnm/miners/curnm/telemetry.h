#pragma once

#include <map>
#include <span>
#include <string>

#include "curnm/graph/event_log.h"
#include "curnm/nn/tensor.h"
#include "curnm/sampling/batch_parts.h"
#include "curnm/sampling/candidates.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/history.h"

// Measures that show how a curriculum works.

namespace curnm {

// All are of a whole batch, of which there may be other parts.

/// AUC of a batch's positives against its random negatives, as scored while training: unlike AP it
/// does not rise because there are fewer negatives. NaN if a score is NaN.
double training_auc(const Tensor& positive, const Tensor& random,
                    const BatchParts& parts = whole_batch());

/// Shares of the kinds in the pools and among the chosen candidates, and the mean probability of
/// each kind: pool_hard, selected_hard, score_hard, ... A kind that does not occur has no score.
void describe_pool(const Candidates& candidates, std::span<const std::int64_t> chosen,
                   const Tensor& logits, std::map<std::string, double>& measures,
                   const BatchParts& parts = whole_batch());

/// The share of the chosen candidates that will be positives of their source within the next batch.
double false_negative_share(const EventBatch& batch, const Candidates& candidates,
                            std::span<const std::int64_t> chosen, const EventLog& events,
                            const History& pairs, const BatchParts& parts = whole_batch());

}  // namespace curnm
