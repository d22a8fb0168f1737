#pragma once

#include <memory>

#include "curnm/evaluation/scorer.h"
#include "curnm/evaluation/task.h"

// What a person would try before a network: rules of one line whose numbers are fitted to training
// events, for each question apart.

namespace curnm {

/// The one statistic of the pair, or its negative, that ranks training events above negatives best.
std::unique_ptr<Scorer> best_statistic(const LinkTask& task);

/// A logistic regression on the seven ages among the statistics.
std::unique_ptr<Scorer> age_regression(const LinkTask& task);

}  // namespace curnm
