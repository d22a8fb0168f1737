#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "curnm/prediction/trained_model.h"
#include "curnm/sampling/links.h"

namespace curnm {

/// A destination and how likely it is.
struct Prediction {
  NodeId node = kNoNode;
  float logit = 0;
};

/// Answers questions about links from a trained model and the events that have happened: no
/// training, no evaluation, nothing that is drawn for either.
///
/// A question is answered from everything that happened strictly before its time, events of nodes
/// that were hidden from training included. An answer does not depend on other questions, nor on
/// later events, to the bit.
///
/// Thread-safe: questions may be asked from several threads at once. Those at or after the last
/// event share one state; an earlier one replays the log up to its time.
class Predictor {
 public:
  /// `events`: the network of the training, or what it has become since. Throws UnusableRun where
  /// it is another one, and what make_model throws.
  Predictor(TrainedModel model, Dataset events);
  ~Predictor();
  Predictor(Predictor&&) noexcept;

  const TrainedModel& model() const;
  const Dataset& dataset() const;

  /// Throws Error, with the nearest id, for a node that the network does not have.
  NodeId find(std::string_view id) const;

  /// The logits of the pairs.
  std::vector<float> score(const Pairs& pairs) const;

  /// What may be predicted for src at t: whatever has been a destination before, hidden and later
  /// nodes too; src itself only where nodes meet themselves. What happens at t or later has no say.
  std::vector<NodeId> choices(NodeId src, Timestamp t) const;
  /// The k likeliest of the choices, the likeliest first; of equals those with lower numbers.
  /// Throws Error where nothing has happened before t.
  std::vector<Prediction> top(NodeId src, Timestamp t, std::int64_t k) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The state of a model after all whole batches of the events, for TrainedModel. Made from the
/// weights alone.
void add_state(TrainedModel& model, const Dataset& events);

}  // namespace curnm
