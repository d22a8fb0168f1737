#pragma once

#include <vector>

#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/links.h"

namespace curnm {

/// Anything that scores links: a trained model or a rule without parameters.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// Higher is likelier. `now` is the time of the first event of the batch that is being evaluated.
  virtual std::vector<float> score(const Pairs& pairs, Timestamp now) = 0;

  /// Shows the scorer the positives of a batch, after all scores of that batch.
  virtual void observe(const EventBatch&) {}
};

}  // namespace curnm
