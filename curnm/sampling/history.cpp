#include "curnm/sampling/history.h"

#include <bit>
#include <limits>
#include <utility>

#include "curnm/base/error.h"
#include "curnm/graph/search.h"

namespace curnm {

History::History(const EventLog& log) {
  std::vector<PairId> pair_of_event(index(log.size()));
  number_pairs(log, pair_of_event);
  const std::size_t pairs = pairs_.size();

  // Times grouped by pair: count, sum up, scatter in log order (which keeps them ascending).
  for (PairId pair : pair_of_event) ++pairs_[index(pair)].begin;
  std::int64_t total = 0;
  for (Pair& pair : pairs_) total += std::exchange(pair.begin, total);
  pairs_.push_back({kNoNode, kNoNode, total});
  times_.resize(index(total));
  std::vector<std::int64_t> cursor(pairs);
  for (std::size_t p = 0; p < pairs; ++p) cursor[p] = pairs_[p].begin;
  for (EventId e = 0; e < log.size(); ++e) {
    times_[index(cursor[index(pair_of_event[index(e)])]++)] = log.time[e];
  }

  // Pairs grouped by source; ascending pair numbers are ascending first times.
  offsets_.assign(index(log.num_nodes) + 1, 0);
  for (std::size_t p = 0; p < pairs; ++p) ++offsets_[index(pairs_[p].src)];
  total = 0;
  for (std::int64_t& offset : offsets_) total += std::exchange(offset, total);
  pairs_by_source_.resize(pairs);
  first_times_.resize(pairs);
  std::vector<std::int64_t> next(offsets_.begin(), offsets_.end());
  for (std::size_t p = 0; p < pairs; ++p) {
    const std::size_t at = index(next[index(pairs_[p].src)]++);
    pairs_by_source_[at] = static_cast<PairId>(p);
    first_times_[at] = times_[index(pairs_[p].begin)];
  }
}

void History::number_pairs(const EventLog& log, std::vector<PairId>& pair_of_event) {
  const auto rehash = [&] {
    table_.assign(std::max<std::size_t>(16, std::bit_ceil(pairs_.size() * 4)), kNoPair);
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      table_[slot(pairs_[p].src, pairs_[p].dst)] = static_cast<PairId>(p);
    }
  };
  rehash();
  for (EventId e = 0; e < log.size(); ++e) {
    const NodeId u = log.src[e];
    const NodeId v = log.dst[e];
    PairId& pair = table_[slot(u, v)];
    pair_of_event[index(e)] = pair;
    if (pair != kNoPair) continue;
    if (pairs_.size() >= index(std::numeric_limits<PairId>::max())) {
      fail("more than {} distinct pairs are not supported", std::numeric_limits<PairId>::max());
    }
    pair_of_event[index(e)] = pair = static_cast<PairId>(pairs_.size());
    pairs_.push_back({u, v, 0});
    if (pairs_.size() * 2 > table_.size()) rehash();
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
  return first_not_before(times_.data(), pairs_[index(pair)].begin, pairs_[index(pair) + 1].begin,
                          t);
}

Timestamp History::last_before(NodeId u, NodeId v, Timestamp t) const {
  const PairId pair = find(u, v);
  if (pair == kNoPair) return kNever;
  const std::int64_t at = not_before(pair, t);
  return at == pairs_[index(pair)].begin ? kNever : times_[index(at - 1)];
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

std::int64_t History::draw(NodeId u, Timestamp t, Rng& rng, DrawScratch& scratch,
                           std::span<Partner> out) const {
  const std::span<const PairId> past = pairs_of_before(u, t);
  Partner* next = out.data();
  return draw_distinct(
      0, static_cast<std::int64_t>(past.size()), static_cast<std::int64_t>(out.size()), rng,
      scratch, [&](std::int64_t i) { return !occurs_within(past[index(i)], t, t); },
      [&](std::int64_t i) {
        const PairId pair = past[index(i)];
        *next++ = {dst(pair), times_[index(not_before(pair, t) - 1)]};
      });
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
