#include "curnm/graph/temporal_graph.h"

#include <algorithm>

#include "curnm/base/parallel.h"
#include "curnm/graph/search.h"

namespace curnm {
namespace {

// A thread's own counters cost N words; past this many words in all, fewer threads are used.
constexpr std::int64_t kMaxCounters = std::int64_t{1} << 25;

int builders(NodeId nodes, std::int64_t events) {
  constexpr std::int64_t kEventsPerBuilder = 1 << 16;
  return static_cast<int>(std::clamp<std::int64_t>(
      std::min(events / kEventsPerBuilder, kMaxCounters / std::max<std::int64_t>(nodes, 1)), 1,
      num_threads()));
}

}  // namespace

TemporalGraph::TemporalGraph(const EventLog& log, std::optional<std::span<const EventId>> subset)
    : blocks_(static_cast<std::size_t>(log.num_nodes)) {
  const std::int64_t events = subset ? static_cast<std::int64_t>(subset->size()) : log.size();
  const auto event_at = [&](std::int64_t i) {
    return subset ? (*subset)[static_cast<std::size_t>(i)] : i;
  };
  const auto nodes = static_cast<std::size_t>(log.num_nodes);

  // A stable counting sort by node. Builder b owns the b-th stretch of the log; its cursor for node
  // u starts after the entries of earlier builders, so time order is kept without locks.
  const int num_builders = builders(log.num_nodes, events);
  std::vector<std::vector<std::int64_t>> cursors(static_cast<std::size_t>(num_builders),
                                                 std::vector<std::int64_t>(nodes, 0));
  parallel_chunks(events, num_builders, [&](int builder, std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t>& count = cursors[static_cast<std::size_t>(builder)];
    for (std::int64_t i = begin; i < end; ++i) {
      const EventId e = event_at(i);
      ++count[static_cast<std::size_t>(log.src[e])];
      if (log.dst[e] != log.src[e]) ++count[static_cast<std::size_t>(log.dst[e])];
    }
  });
  std::int64_t total = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    blocks_[node].begin = total;
    for (std::vector<std::int64_t>& cursor : cursors) {
      total += std::exchange(cursor[node], total);
    }
    blocks_[node].end = total;
  }
  num_entries_ = total;
  room_ = BlockRoom(total);

  const auto entries = static_cast<std::size_t>(total);
  partners_.resize(entries);
  times_.resize(entries);
  events_.resize(entries);
  parallel_chunks(events, num_builders, [&](int builder, std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t>& cursor = cursors[static_cast<std::size_t>(builder)];
    const auto put = [&](NodeId node, NodeId partner, EventId e) {
      const auto slot = static_cast<std::size_t>(cursor[static_cast<std::size_t>(node)]++);
      partners_[slot] = partner;
      times_[slot] = log.time[e];
      events_[slot] = e;
    };
    for (std::int64_t i = begin; i < end; ++i) {
      const EventId e = event_at(i);
      put(log.src[e], log.dst[e], e);
      if (log.dst[e] != log.src[e]) put(log.dst[e], log.src[e], e);
    }
  });
}

PlacedEntry TemporalGraph::put_entry(NodeId node, NodeId partner, Timestamp time, EventId event) {
  const PlacedEntry placed = room_.place(node, blocks_[index(node)]);
  put(partners_, placed, room_.slots(), partner);
  put(times_, placed, room_.slots(), time);
  put(events_, placed, room_.slots(), event);
  ++num_entries_;
  return placed;
}

TemporalGraph::Appended TemporalGraph::append(NodeId src, NodeId dst, Timestamp time,
                                              EventId event) {
  const auto nodes = index(std::max(src, dst)) + 1;
  if (blocks_.size() < nodes) blocks_.resize(nodes);
  Appended appended{.of_src = put_entry(src, dst, time, event)};
  if (dst != src) appended.of_dst = put_entry(dst, src, time, event);
  return appended;
}

TemporalGraph::Range TemporalGraph::before(NodeId node, Timestamp t) const {
  const Range range = all(node);
  return {range.begin, first_not_before(times_.data(), range.begin, range.end, t)};
}

TemporalGraph::Range TemporalGraph::between(NodeId node, Timestamp from, Timestamp to) const {
  const Range range = before(node, to);
  return {first_not_before(times_.data(), range.begin, range.end, from), range.end};
}

void TemporalGraph::visit_memory(const PageVisitor& visit) const {
  visit_pages(blocks_, visit);
  visit_pages(partners_, visit);
  visit_pages(times_, visit);
  visit_pages(events_, visit);
}

Timestamp TemporalGraph::last_seen(NodeId node, Timestamp t) const {
  const Range range = before(node, t);
  return range.size() == 0 ? kNever : times_[static_cast<std::size_t>(range.end - 1)];
}

}  // namespace curnm
