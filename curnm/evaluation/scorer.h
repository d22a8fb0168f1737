#pragma once

#include <span>
#include <vector>

#include "curnm/sampling/event_batch.h"

namespace curnm {

/// Possible links to be scored: does src[i] meet dst[i] at time[i]?
struct Pairs {
  std::span<const NodeId> src;
  std::span<const NodeId> dst;
  std::span<const Timestamp> time;

  std::int64_t size() const { return static_cast<std::int64_t>(src.size()); }
};

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
