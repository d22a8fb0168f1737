#include "curnm/sampling/history.h"

#include <bit>
#include <limits>
#include <utility>

#include "curnm/base/error.h"
#include "curnm/graph/search.h"

namespace curnm {

History::History(const EventLog& log, Partnership partnership) {
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
  pairs_.push_back({u, v, 0});
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
  for (PairId pair : pair_of_link) ++pairs_[index(pair)].begin;
  std::int64_t total = 0;
  for (Pair& pair : pairs_) total += std::exchange(pair.begin, total);
  std::vector<std::int64_t> cursor;
  cursor.reserve(pairs_.size());
  for (const Pair& pair : pairs_) cursor.push_back(pair.begin);
  pairs_.push_back({kNoNode, kNoNode, total});
  times_.resize(index(total));
  for (std::size_t link = 0; link < pair_of_link.size(); ++link) {
    times_[index(cursor[index(pair_of_link[link])]++)] = link_times[link];
  }
}

/// Ascending pair numbers are ascending first times, so each list comes out sorted by them.
void History::group_by_source(NodeId num_nodes) {
  offsets_.assign(index(num_nodes) + 1, 0);
  for (PairId pair = 0; pair < num_pairs(); ++pair) ++offsets_[index(src(pair))];
  std::int64_t total = 0;
  for (std::int64_t& offset : offsets_) total += std::exchange(offset, total);
  pairs_by_source_.resize(index(num_pairs()));
  first_times_.resize(index(num_pairs()));
  std::vector<std::int64_t> cursor(offsets_.begin(), offsets_.end());
  for (PairId pair = 0; pair < num_pairs(); ++pair) {
    const std::size_t at = index(cursor[index(src(pair))]++);
    pairs_by_source_[at] = pair;
    first_times_[at] = first_time(pair);
  }
}

std::size_t History::slot(NodeId u, NodeId v) const {
  const std::size_t mask = table_.size() - 1;
  const std::uint64_t key = static_cast<std::uint64_t>(u) << 32 | static_cast<std::uint64_t>(v);
  std::size_t at = ((key ^ key >> 29) * 0x9e3779b97f4a7c15 >> 20) & mask;
  while (table_[at] != kNoPair) {
    const Pair& pair = pairs_[index(table_[at])];
    if (pair.src == u && pair.dst == v) break;
    at = (at + 1) & mask;
  }
  return at;
}

std::span<const Timestamp> History::times(PairId pair) const {
  const std::int64_t begin = pairs_[index(pair)].begin;
  return std::span(times_).subspan(index(begin), index(pairs_[index(pair) + 1].begin - begin));
}

PairId History::find(NodeId u, NodeId v) const { return table_[slot(u, v)]; }

std::int64_t History::not_before(PairId pair, Timestamp t) const {
  const std::int64_t begin = pairs_[index(pair)].begin;
  const std::int64_t end = pairs_[index(pair) + 1].begin;
  // Most former partners are not met again: one comparison replaces a search.
  if (times_[index(end - 1)] < t) return end;
  return first_not_before(times_.data(), begin, end, t);
}

Activity History::before(NodeId u, NodeId v, Timestamp t) const {
  const PairId pair = find(u, v);
  if (pair == kNoPair) return {};
  const std::int64_t count = not_before(pair, t) - pairs_[index(pair)].begin;
  if (count == 0) return {};
  return {count, times_[index(pairs_[index(pair)].begin + count - 1)]};
}

bool History::occurs_at(NodeId u, NodeId v, Timestamp t) const {
  const PairId pair = find(u, v);
  return pair != kNoPair && occurs_within(pair, t, t);
}

bool History::occurs_within(PairId pair, Timestamp from, Timestamp to) const {
  const std::int64_t at = not_before(pair, from);
  return at < pairs_[index(pair) + 1].begin && times_[index(at)] <= to;
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
  const std::int64_t begin = offsets_[index(u)];
  const std::int64_t end = first_not_before(first_times_.data(), begin, offsets_[index(u) + 1], t);
  return std::span(pairs_by_source_).subspan(index(begin), index(end - begin));
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
