#pragma once

#include <vector>

#include "curnm/prediction/link_model.h"

namespace curnm {

/// Replays a log to a model, batch by batch from the beginning. The state at an event does not
/// depend on where earlier calls stopped: complete batches are kept, and a partial batch is undone
/// before the next call.
class Replay {
 public:
  /// REQUIRES: model and log outlive this object. `batch`: events that are observed at once.
  Replay(LinkModel& model, const EventLog& log, std::int64_t batch)
      : model_(&model), log_(&log), batch_(batch) {}

  /// Resets the model to the state before any event.
  void restart();
  /// Declares that the model has seen the first `events` events; batches count from there.
  void begin_at(EventId events);
  /// Brings the model to the state after the events before `end`. REQUIRES: end >= position().
  void advance_to(EventId end);
  /// The number of events in complete batches; the model cannot go back before them.
  EventId position() const { return seen_; }

 private:
  EventBatch batch_to(EventId end);

  LinkModel* model_;
  const EventLog* log_;
  std::int64_t batch_;
  EventId seen_ = 0;
  std::vector<EventId> numbers_;                  // of the events of a batch
  std::vector<std::vector<Tensor>> before_part_;  // what an applied partial batch has changed
};

}  // namespace curnm
