#include "curnm/sampling/history.h"

#include <bit>
#include <limits>
#include <utility>

#include "curnm/base/error.h"
#include "curnm/graph/search.h"

namespace curnm {

History::History(const EventLog& log, Partnership partnership) : partnership_(partnership) {
  std::vector<PairId> pair_of_link;  // in time order
  std::vector<Timestamp> link_times;
  const std::size_t links = index(log.size()) * (partnership == Partnership::kMutual ? 2 : 1);
  pair_of_link.reserve(links);
  link_times.reserve(links);
  rehash();
  const auto add = [&](NodeId u, NodeId v, Timestamp t) {
    pair_of_link.push_back(number(u, v));
    link_times.push_back(t);
  };
  for (EventId e = 0; e < log.size(); ++e) {
    const NodeId u = log.src[e];
    const NodeId v = log.dst[e];
    add(u, v, log.time[e]);
    if (partnership == Partnership::kMutual && u != v) add(v, u, log.time[e]);
  }
  group_times(pair_of_link, link_times);
  group_by_source(log.num_nodes);
}

PairId History::number(NodeId u, NodeId v) {
  PairId& pair = table_[slot(u, v)];
  if (pair != kNoPair) return pair;
  if (pairs_.size() >= index(std::numeric_limits<PairId>::max())) {
    fail("more than {} distinct pairs are not supported", std::numeric_limits<PairId>::max());
  }
  const PairId fresh = pair = static_cast<PairId>(pairs_.size());
  pairs_.push_back({u, v, {}});
  if (pairs_.size() * 2 > table_.size()) rehash();
  return fresh;
}

void History::rehash() {
  table_.assign(std::max<std::size_t>(16, std::bit_ceil(pairs_.size() * 4)), kNoPair);
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    table_[slot(pairs_[p].src, pairs_[p].dst)] = static_cast<PairId>(p);
  }
}

/// Count, sum up, scatter in time order, which keeps the times of a pair ascending.
void History::group_times(std::span<const PairId> pair_of_link,
                          std::span<const Timestamp> link_times) {
  for (PairId pair : pair_of_link) ++pairs_[index(pair)].times.end;
  std::int64_t total = 0;
  for (Pair& pair : pairs_) {
    const std::int64_t count = std::exchange(pair.times.end, total);
    pair.times.begin = total;
    total += count;
  }
  times_.resize(index(total));
  times_room_ = BlockRoom(total);
  for (std::size_t link = 0; link < pair_of_link.size(); ++link) {
    times_[index(pairs_[index(pair_of_link[link])].times.end++)] = link_times[link];
  }
}

/// Ascending pair numbers are ascending first times, so each list comes out sorted by them.
void History::group_by_source(NodeId num_nodes) {
  sources_.assign(index(num_nodes), {});
  for (PairId pair = 0; pair < num_pairs(); ++pair) ++sources_[index(src(pair))].end;
  std::int64_t total = 0;
  for (Block& source : sources_) {
    const std::int64_t count = std::exchange(source.end, total);
    source.begin = total;
    total += count;
  }
  pairs_by_source_.resize(index(num_pairs()));
  first_times_.resize(index(num_pairs()));
  sources_room_ = BlockRoom(total);
  for (PairId pair = 0; pair < num_pairs(); ++pair) {
    const std::size_t at = index(sources_[index(src(pair))].end++);
    pairs_by_source_[at] = pair;
    first_times_[at] = first_time(pair);
  }
}

void History::add_node(NodeId node) {
  if (sources_.size() <= index(node)) sources_.resize(index(node) + 1);
}

void History::append(NodeId u, NodeId v, Timestamp t) {
  add_node(std::max(u, v));
  append_pair(u, v, t);
  if (partnership_ == Partnership::kMutual && u != v) append_pair(v, u, t);
}

void History::append_pair(NodeId u, NodeId v, Timestamp t) {
  const PairId known = num_pairs();
  const PairId pair = number(u, v);
  const PlacedEntry placed = times_room_.place(pair, pairs_[index(pair)].times);
  put(times_, placed, times_room_.slots(), t);
  if (pair < known) return;
  const PlacedEntry of_source = sources_room_.place(u, sources_[index(u)]);
  put(pairs_by_source_, of_source, sources_room_.slots(), pair);
  put(first_times_, of_source, sources_room_.slots(), t);
}

void History::visit_memory(const PageVisitor& visit) const {
  visit_pages(pairs_, visit);
  visit_pages(times_, visit);
  visit_pages(table_, visit);
  visit_pages(sources_, visit);
  visit_pages(pairs_by_source_, visit);
  visit_pages(first_times_, visit);
}

std::size_t History::slot(NodeId u, NodeId v) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = first_slot(u, v);
  while (table_[at] != kNoPair) {
    const Pair& pair = pairs_[index(table_[at])];
    if (pair.src == u && pair.dst == v) break;
    at = (at + 1) & mask;
  }
  return at;
}

std::span<const Timestamp> History::times(PairId pair) const {
  const Block block = pairs_[index(pair)].times;
  return std::span(times_).subspan(index(block.begin), index(block.size()));
}

PairId History::find(NodeId u, NodeId v) const { return table_[slot(u, v)]; }

std::int64_t History::not_before(PairId pair, Timestamp t) const {
  const auto [begin, end] = pairs_[index(pair)].times;
  // Most former partners are not met again: one comparison replaces a search.
  if (times_[index(end - 1)] < t) return end;
  return first_not_before(times_.data(), begin, end, t);
}

Activity History::before(NodeId u, NodeId v, Timestamp t) const {
  const PairId pair = find(u, v);
  if (pair == kNoPair) return {};
  const std::int64_t begin = pairs_[index(pair)].times.begin;
  const std::int64_t count = not_before(pair, t) - begin;
  if (count == 0) return {};
  return {count, times_[index(begin + count - 1)]};
}

bool History::occurs_at(NodeId u, NodeId v, Timestamp t) const {
  const PairId pair = find(u, v);
  return pair != kNoPair && occurs_within(pair, t, t);
}

bool History::occurs_within(PairId pair, Timestamp from, Timestamp to) const {
  const std::int64_t at = not_before(pair, from);
  return at < pairs_[index(pair)].times.end && times_[index(at)] <= to;
}

PairId History::pairs_before(Timestamp t) const {
  PairId low = 0;
  PairId high = num_pairs();
  while (low < high) {
    const PairId middle = low + (high - low) / 2;
    if (first_time(middle) < t) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::span<const PairId> History::pairs_of_before(NodeId u, Timestamp t) const {
  const Block block = sources_[index(u)];
  const std::int64_t end = first_not_before(first_times_.data(), block.begin, block.end, t);
  return std::span(pairs_by_source_).subspan(index(block.begin), index(end - block.begin));
}

std::vector<Partner> History::all(NodeId u, Timestamp t) const {
  std::vector<Partner> partners;
  for (PairId pair : pairs_of_before(u, t)) {
    if (occurs_within(pair, t, t)) continue;
    partners.push_back({dst(pair), times_[index(not_before(pair, t) - 1)]});
  }
  return partners;
}

}  // namespace curnm
