#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "curnm/graph/event_log.h"

// Brute-force answers by loops over the whole log, to test the fast structures against.

namespace curnm::testing {

struct Event {
  NodeId src;
  NodeId dst;
  Timestamp time;
};

inline EventLog make_log(const std::vector<Event>& events, NodeId num_nodes) {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  for (const Event& event : events) {
    src.push_back(event.src);
    dst.push_back(event.dst);
    time.push_back(event.time);
  }
  return {std::move(src), std::move(dst), std::move(time), num_nodes};
}

inline std::vector<Event> events_of(const EventLog& log) {
  std::vector<Event> events;
  for (EventId e = 0; e < log.size(); ++e) events.push_back({log.src[e], log.dst[e], log.time[e]});
  return events;
}

/// Every event followed by its reverse, self-loops once: directed history of the result is mutual
/// history of the log.
inline EventLog mirrored(const EventLog& log) {
  std::vector<Event> events;
  for (const Event& event : events_of(log)) {
    events.push_back(event);
    if (event.src != event.dst) events.push_back({event.dst, event.src, event.time});
  }
  return make_log(events, log.num_nodes);
}

inline std::vector<EventId> all_events(const EventLog& log) {
  std::vector<EventId> ids;
  for (EventId e = 0; e < log.size(); ++e) ids.push_back(e);
  return ids;
}

/// Every time of the log, every midpoint between neighbouring ones, one before and one after all.
inline std::vector<Timestamp> interesting_times(const EventLog& log) {
  const std::set<Timestamp> distinct(log.time.begin(), log.time.end());
  if (distinct.empty()) return {-1, 0, 1};
  std::vector<Timestamp> times = {*distinct.begin() - 1};
  for (Timestamp t : distinct) {
    if (times.size() > 1) times.push_back((times.back() + t) / 2);
    times.push_back(t);
  }
  times.push_back(*distinct.rbegin() + 1);
  return times;
}

/// One event as one of its endpoints sees it.
struct Entry {
  NodeId partner;
  Timestamp time;
  EventId event;

  friend bool operator==(const Entry&, const Entry&) = default;
  friend bool operator<(const Entry& a, const Entry& b) { return a.event < b.event; }
};

/// The events among `ids` that touch the node and have from <= time < to, in log order.
inline std::vector<Entry> naive_entries(const EventLog& log, const std::vector<EventId>& ids,
                                        NodeId node, Timestamp from, Timestamp to) {
  std::vector<Entry> entries;
  for (EventId e : ids) {
    if (log.time[e] < from || log.time[e] >= to) continue;
    if (log.src[e] == node) {
      entries.push_back({log.dst[e], log.time[e], e});
    } else if (log.dst[e] == node) {
      entries.push_back({log.src[e], log.time[e], e});
    }
  }
  return entries;
}

using NodePair = std::pair<NodeId, NodeId>;

/// Is there an event u -> v in the closed interval from .. to?
inline bool naive_occurs(const EventLog& log, NodeId u, NodeId v, Timestamp from, Timestamp to) {
  for (EventId e = 0; e < log.size(); ++e) {
    if (log.src[e] == u && log.dst[e] == v && log.time[e] >= from && log.time[e] <= to) return true;
  }
  return false;
}

/// The pairs (src, dst) with an event in from <= time < to.
inline std::set<NodePair> naive_pairs(const EventLog& log, Timestamp from, Timestamp to) {
  std::set<NodePair> pairs;
  for (EventId e = 0; e < log.size(); ++e) {
    if (log.time[e] >= from && log.time[e] < to) pairs.insert({log.src[e], log.dst[e]});
  }
  return pairs;
}

/// H_{u,t}: destinations of u strictly before t, each with its latest time before t, without the
/// destinations of u at t.
inline std::map<NodeId, Timestamp> naive_history(const EventLog& log, NodeId u, Timestamp t) {
  std::map<NodeId, Timestamp> history;
  for (EventId e = 0; e < log.size(); ++e) {
    if (log.src[e] == u && log.time[e] < t) history[log.dst[e]] = log.time[e];
  }
  for (EventId e = 0; e < log.size(); ++e) {
    if (log.src[e] == u && log.time[e] == t) history.erase(log.dst[e]);
  }
  return history;
}

}  // namespace curnm::testing
