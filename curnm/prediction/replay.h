#pragma once

#include <vector>

#include "curnm/models/model.h"

namespace curnm {

/// Shows a model what happened, batch by batch from the beginning of a log. The state at an event
/// does not depend on where there were stops on the way: whole batches stay, and part of one is
/// undone before the next call.
class Replay {
 public:
  /// REQUIRES: model and log outlive this object. `batch`: events that are observed at once.
  Replay(Model& model, const EventLog& log, std::int64_t batch)
      : model_(&model), log_(&log), batch_(batch) {}

  /// The model knows nothing yet.
  void restart();
  /// The model's state is that after the first `events`; batches count from there.
  void begin_at(EventId events);
  /// The model knows the events before `end` of the log. REQUIRES: end >= position().
  void advance_to(EventId end);
  /// Events whose batches are complete; there is no way back before them.
  EventId position() const { return seen_; }

 private:
  void observe(EventId end);

  Model* model_;
  const EventLog* log_;
  std::int64_t batch_;
  EventId seen_ = 0;
  std::vector<Tensor> before_part_;  // the state there, while part of a batch has been added
};

}  // namespace curnm
