#pragma once

#include <vector>

#include "curnm/sampling/history.h"

namespace curnm {

/// What nodes do next. There is a transition p -> y at t for each end of each event at t: y is the
/// other end, p whom this one had met last strictly before t. "Somebody went on from p to y":
/// people who took item p then took item y, and items taken by p were then taken by y.
///
/// Events of equal time do not follow each other; the last one in the log counts as the newest, but
/// of more than kMostAtOnce events none: snapshots have no order. A self-loop makes one transition.
class Transitions {
 public:
  static constexpr std::int64_t kMostAtOnce = 4;

  explicit Transitions(const EventLog& log);

  /// Transitions p -> y as a history: how often before t, when last.
  const History& history() const { return history_; }

  /// Those of one more event. REQUIRES: as History::append.
  void append(NodeId src, NodeId dst, Timestamp time);

 private:
  /// Whom a node met at its newest time, in how many events, and whom at the time before that.
  struct Newest {
    Timestamp time = kNever;
    NodeId partner = kNoNode;
    NodeId before = kNoNode;
    std::int64_t events = 0;
  };
  using NewestOfNodes = std::vector<Newest>;

  static EventLog all(const EventLog& log, NewestOfNodes& newest);
  /// Passes the transitions of the event to take(from, to), and notes whom its ends have met.
  template <class Take>
  static void follow(NodeId src, NodeId dst, Timestamp time, NewestOfNodes& newest,
                     const Take& take);

  NewestOfNodes newest_;  // [N]
  History history_;
};

}  // namespace curnm
