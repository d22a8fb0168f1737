#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "curnm/data/dataset.h"
#include "curnm/data/stream_events.h"
#include "curnm/graph/keep.h"
#include "curnm/sampling/indices.h"

namespace curnm {

/// A network to which events are appended: columns, names, indices, and who may be a destination.
/// The same as the data set that curnm::append would make; what is forgotten, by `keep`, is missing
/// in the indices, and in time in the columns. Not thread-safe while it grows or forgets.
///
/// Events have two numbers: that of the stream from its beginning, and that of `log`, which begins
/// with the first event that is still there.
class LiveNetwork {
 public:
  LiveNetwork(const Dataset& base, const Keep& keep);
  LiveNetwork(const LiveNetwork&) = delete;
  LiveNetwork& operator=(const LiveNetwork&) = delete;

  /// A view of all events that are there; the object stays, its columns change as the network
  /// grows.
  const EventLog& log() const { return log_; }
  Past past() const { return indices_->past(); }
  const Indices& indices() const { return *indices_; }
  /// Events of the log before t.
  EventId events_before(Timestamp t) const;

  /// Events of the stream before the log.
  EventId dropped() const { return dropped_; }
  /// Events of the stream so far.
  EventId events() const { return dropped_ + log_.size(); }
  /// The first event of the stream that is in the indices.
  EventId first_kept() const { return first_kept_; }
  /// Whether the indices are those for a time at which so many events of the log were known.
  bool is_kept(EventId known) const { return dropped_ + known >= kept_since_; }

  /// What is left after forgetting: made while others may read, put in place while nobody does.
  struct Rest {
    EventId dropped = 0;
    EventId first_kept = 0;
    EventId kept_since = 0;
    std::vector<NodeId> src;
    std::vector<NodeId> dst;
    std::vector<Timestamp> time;
    std::unique_ptr<Indices> indices;
    std::vector<Timestamp> first_as_source;
    std::vector<Timestamp> first_as_destination;
  };
  /// The first event that is kept once events at these times have been appended.
  EventId first_kept_with(std::span<const Timestamp> more) const;
  /// What is left once `first` is the first event that is kept, with events at these times on top.
  /// Events of the log are dropped whole batches at a time, the first `droppable` at most.
  /// REQUIRES: first
  /// <= events().
  Rest rest(EventId first, std::span<const Timestamp> more, EventId droppable,
            std::int64_t batch) const;
  /// REQUIRES: nothing has been appended since the rest was made.
  void put(Rest rest);

  /// What a snapshot has to know of events that are not in it.
  struct Forgotten {
    EventId dropped = 0;
    EventId first_kept = 0;
    EventId first_mixed = 0;
    EventId first_loop = 0;
    std::vector<std::string> born;  // names of nodes after the base, in order
    std::vector<std::uint8_t> was_source;
    std::vector<std::uint8_t> was_destination;
  };
  Forgotten forgotten(NodeId base_nodes) const;
  /// Puts a network that has only its base where another one was: before the events that it still
  /// had beyond the base. REQUIRES: `forgotten` is valid for it; `finish_resume` comes after the
  /// last of those events, and nothing is asked before it.
  void begin_resume(const Forgotten& forgotten);
  void finish_resume(const Forgotten& forgotten);

  enum class Role { kSource, kDestination };
  /// kNoNode for a name that is not known in this role.
  NodeId find(std::string_view name, Role role) const;
  std::string name(NodeId node) const;
  /// The name that a node of this name has, or will have once it is born.
  std::string resolved(std::string_view name, Role role) const;
  /// Throws Error unless all nodes are known or can be born, `most_new` of them at most.
  void check_names(const StreamEvents& events) const;

  /// As many nodes as there may be at most after events begin .. end-1 of these, which are checked.
  std::int64_t most_nodes_with(const StreamEvents& events, std::int64_t begin,
                               std::int64_t end) const;

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
  void make_room_for_nodes();
  EventId known_when(EventId first, std::span<const Timestamp> more) const;
  void note(EventId event);
  void show_columns();
  std::unique_ptr<Indices> indices_from(const EventLog& log, EventId begin) const;

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
  Keep keep_;
  EventId dropped_ = 0;
  EventId first_kept_ = 0;
  EventId kept_since_ = 0;  // how many events must be known for that
  std::unique_ptr<Indices> indices_;
  // First times in each role among the kept events, by node.
  std::vector<Timestamp> first_as_source_;
  std::vector<Timestamp> first_as_destination_;
  // What kind of network it is, which is not forgotten: roles ever, and the first event that breaks
  // a rule.
  std::vector<std::uint8_t> was_source_;
  std::vector<std::uint8_t> was_destination_;
  EventId first_mixed_ = std::numeric_limits<EventId>::max();
  EventId first_loop_ = std::numeric_limits<EventId>::max();
};

}  // namespace curnm
