#pragma once

#include <memory>
#include <vector>

#include "curnm/data/dataset.h"
#include "curnm/prediction/link_model.h"
#include "curnm/prediction/replay.h"
#include "curnm/prediction/trained_model.h"

namespace curnm {

/// A model that follows a log, with its current position.
struct Follower {
  Follower(LinkModel made, const EventLog& log, std::int64_t batch)
      : model(std::move(made)), replay(model, log, batch) {}
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  LinkModel model;
  Replay replay;
};

/// What a follower looks at. REQUIRES: log and past outlive it.
struct FollowedNetwork {
  const EventLog& log;
  Past past;
  NodeId num_nodes = 0;  // at least those of the log
  Tensor edge_features;  // scaled; at least a row for each event; undefined where there are none
  Tensor node_features;  // the same for nodes
};

/// A data set as it is, with features on the scales of the training.
FollowedNetwork followed(const TrainedModel& trained, const Dataset& events, const Past& past);

/// A follower that has seen no events yet.
std::unique_ptr<Follower> make_follower(const TrainedModel& trained,
                                        const FollowedNetwork& network);

/// Continues from the state after some events, of a network that may have more nodes by now; the
/// new ones start empty. Throws UnusableRun for the state of another model.
void begin_at(Follower& follower, const std::vector<Tensor>& state, EventId events);
/// The same from the saved state.
void begin_at_saved_state(const TrainedModel& trained, Follower& follower);

}  // namespace curnm
