#pragma once

#include <limits>
#include <string>
#include <vector>

#include "curnm/data/dataset.h"
#include "curnm/data/stream_events.h"
#include "curnm/sampling/indices.h"

namespace curnm {

/// A network to which events are appended: columns, names, indices, and who may be a destination.
/// The same as the data set that curnm::append would make. Not thread-safe while it grows.
class LiveNetwork {
 public:
  explicit LiveNetwork(const Dataset& base);
  LiveNetwork(const LiveNetwork&) = delete;
  LiveNetwork& operator=(const LiveNetwork&) = delete;

  /// A view of all events so far; the object stays, its columns change as the network grows.
  const EventLog& log() const { return log_; }
  Past past() const { return indices_.past(); }
  const Indices& indices() const { return indices_; }
  EventId events_before(Timestamp t) const;

  enum class Role { kSource, kDestination };
  /// kNoNode for a name that is not known in this role.
  NodeId find(std::string_view name, Role role) const;
  std::string name(NodeId node) const;
  /// The name that a node of this name has, or will have once it is born.
  std::string resolved(std::string_view name, Role role) const;
  /// Throws Error unless all nodes are known or can be born, `most_new` of them at most.
  void check_names(const StreamEvents& events) const;

  /// REQUIRES: resolved and checked; times do not decrease.
  void append(std::string_view src, std::string_view dst, Timestamp time);

  /// Whom anybody may be predicted to meet at t, ascending, and whether a node may meet itself.
  /// `least` as below.
  std::vector<NodeId> destinations(Timestamp t, EventId least) const;
  bool has_loops(Timestamp t, EventId least) const;
  /// What may be predicted for src at t, ascending. `least`: events that are known whatever t is.
  std::vector<NodeId> choices(NodeId src, Timestamp t, EventId least, bool with_seen) const;

 private:
  NodeId number(std::string_view name);
  void note(EventId event);
  void show_columns();

  bool named_ = false;
  bool has_node_features_ = false;
  std::string source_kind_;  // "user:" where names have the kind of their node in front
  std::string destination_kind_;
  IdTable ids_;
  NodeId num_nodes_ = 0;
  std::vector<NodeId> src_;
  std::vector<NodeId> dst_;
  std::vector<Timestamp> time_;
  EventLog log_;
  Indices indices_;
  // First times in each role, by node; and the first event that breaks a rule of the network.
  std::vector<Timestamp> first_as_source_;
  std::vector<Timestamp> first_as_destination_;
  EventId first_mixed_ = std::numeric_limits<EventId>::max();
  EventId first_loop_ = std::numeric_limits<EventId>::max();
};

}  // namespace curnm
