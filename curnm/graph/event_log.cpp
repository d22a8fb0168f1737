#include "curnm/graph/event_log.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "curnm/base/error.h"

namespace curnm {

void validate(const EventLog& log) {
  const std::int64_t events = log.size();
  if (log.src.size() != events || log.dst.size() != events) {
    fail("the columns differ in length: {} sources, {} destinations, {} times", log.src.size(),
         log.dst.size(), events);
  }
  const auto known = [&](NodeId node) { return node >= 0 && node < log.num_nodes; };
  for (EventId e = 0; e < events; ++e) {
    if (!known(log.src[e]) || !known(log.dst[e])) {
      fail("event {}: nodes ({}, {}) are not in 0 .. {}", e, log.src[e], log.dst[e],
           log.num_nodes - 1);
    }
  }
  check_order(log.time.span(), kNever, /*first=*/0);
}

void check_order(std::span<const Timestamp> times, Timestamp previous, EventId first) {
  for (EventId e = first; const Timestamp time : times) {
    if (!std::isfinite(time)) fail("event {}: time {} is not finite", e, time);
    if (time < previous) {
      fail("event {}: time {} precedes {} of the event before it", e, time, previous);
    }
    previous = time;
    ++e;
  }
}

EventLog select(const EventLog& log, std::span<const EventId> ids) {
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  src.reserve(ids.size());
  dst.reserve(ids.size());
  time.reserve(ids.size());
  for (EventId e : ids) {
    src.push_back(log.src[e]);
    dst.push_back(log.dst[e]);
    time.push_back(log.time[e]);
  }
  return {std::move(src), std::move(dst), std::move(time), log.num_nodes};
}

Timestamp median_step(const EventLog& log) {
  std::vector<Timestamp> steps;
  for (EventId e = 1; e < log.size(); ++e) {
    if (log.time[e] > log.time[e - 1]) steps.push_back(log.time[e] - log.time[e - 1]);
  }
  if (steps.empty()) return 0;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

EventLog head(const EventLog& log, std::int64_t events) {
  return {log.src.head(events), log.dst.head(events), log.time.head(events), log.num_nodes};
}

bool is_bipartite(const EventLog& log) {
  std::vector<char> is_source(static_cast<std::size_t>(log.num_nodes), 0);
  for (NodeId u : log.src) is_source[static_cast<std::size_t>(u)] = 1;
  for (NodeId v : log.dst) {
    if (is_source[static_cast<std::size_t>(v)]) return false;
  }
  return true;
}

bool has_loops(const EventLog& log) {
  return !std::equal(log.src.begin(), log.src.end(), log.dst.begin(), std::not_equal_to<>());
}

}  // namespace curnm
