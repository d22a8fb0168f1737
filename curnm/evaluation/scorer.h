#pragma once

#include <vector>

#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/links.h"

namespace curnm {

/// Whatever can tell likely links from unlikely ones: a trained model or a rule without parameters.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// Higher is likelier. `now` is the time of the first event of the batch that is being evaluated.
  virtual std::vector<float> score(const Pairs& pairs, Timestamp now) = 0;

  /// The positives of a batch, after all its scores have been asked for.
  virtual void observe(const EventBatch&) {}
};

}  // namespace curnm
