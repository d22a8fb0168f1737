#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "curnm/base/pages.h"
#include "curnm/base/rng.h"
#include "curnm/graph/activity.h"
#include "curnm/graph/blocks.h"
#include "curnm/graph/event_log.h"
#include "curnm/sampling/distinct.h"

namespace curnm {

/// A pair (u, v) with at least one event, numbered in the order of first events.
using PairId = std::int32_t;
inline constexpr PairId kNoPair = -1;

/// A historical neighbour: v in H_{u,t} and the latest time before t at which the two met.
struct Partner {
  NodeId node = kNoNode;
  Timestamp last = kNever;
};

/// Which events make v a partner of u.
enum class Partnership {
  kDirected,  // u -> v: pairs as the log has them
  kMutual,    // u -> v or v -> u: every event counts for both its nodes
};

/// Who interacted with whom before any time t, exactly.
///
/// H_{u,t} (the paper's historical neighbours) is the set of distinct partners of u strictly before
/// t, each with its latest time before t, without the partners of u at t itself. Partners are meant
/// in either role, which is `kMutual`.
///
/// Pairs are numbered by their first event and each keeps its times. So the pairs that exist before
/// t are a prefix of all pairs, the partners of u before t are a prefix of u's partners, and one
/// immutable index answers every t: there is nothing to maintain along the stream, nothing to
/// rebuild per batch, and the future cannot be seen. Built in O(E); a query costs a binary search
/// in the partners of u, a draw one more in the times of the pair (usually a handful).
///
/// Thread-safe: all methods but `append` are const.
class History {
 public:
  /// REQUIRES: fewer than 2^31 distinct pairs.
  explicit History(const EventLog& log, Partnership partnership = Partnership::kDirected);

  PairId num_pairs() const { return static_cast<PairId>(pairs_.size()); }
  NodeId src(PairId pair) const { return pairs_[index(pair)].src; }
  NodeId dst(PairId pair) const { return pairs_[index(pair)].dst; }
  /// The times of the pair's events, ascending.
  std::span<const Timestamp> times(PairId pair) const;
  Timestamp first_time(PairId pair) const { return times_[index(pairs_[index(pair)].times.begin)]; }

  /// The pair (u, v), or kNoPair. O(1) expected.
  PairId find(NodeId u, NodeId v) const;
  /// Fetches what `find` reads first, for many pairs that are known in advance. Inline, since
  /// compilers leave out calls of functions that do nothing else.
  [[gnu::always_inline]] void prefetch(NodeId u, NodeId v) const {
    __builtin_prefetch(table_.data() + first_slot(u, v));
  }
  /// The events of the pair strictly before t.
  Activity before(NodeId u, NodeId v, Timestamp t) const;
  /// The latest of them, or kNever.
  Timestamp last_before(NodeId u, NodeId v, Timestamp t) const { return before(u, v, t).last; }
  /// Does the pair have an event at exactly t?
  bool occurs_at(NodeId u, NodeId v, Timestamp t) const;
  /// Does the pair have an event in the closed interval from .. to?
  bool occurs_within(PairId pair, Timestamp from, Timestamp to) const;

  /// Pairs 0 .. result-1 have an event strictly before t, the others do not. O(log P).
  PairId pairs_before(Timestamp t) const;
  /// The pairs (u, ·) with an event strictly before t, by first time. O(log).
  std::span<const PairId> pairs_of_before(NodeId u, Timestamp t) const;

  /// Draws up to out.size() distinct members v of H_{u,t} with allowed(v), uniformly without
  /// replacement, and returns how many (fewer only when there are fewer).
  template <class Allowed>
  std::int64_t draw(NodeId u, Timestamp t, Rng& rng, DrawScratch& scratch, std::span<Partner> out,
                    const Allowed& allowed) const;
  std::int64_t draw(NodeId u, Timestamp t, Rng& rng, DrawScratch& scratch,
                    std::span<Partner> out) const {
    return draw(u, t, rng, scratch, out, [](NodeId) { return true; });
  }
  /// All of H_{u,t}, by first time.
  std::vector<Partner> all(NodeId u, Timestamp t) const;

  /// One more event; nodes that are new come with it. O(1) on average. REQUIRES: it is not earlier
  /// than any event so far; nobody reads meanwhile. Spans from before are invalid.
  void append(NodeId u, NodeId v, Timestamp t);
  /// One more node, and all below it, without events so far.
  void add_node(NodeId node);

  void visit_memory(const PageVisitor& visit) const;

 private:
  struct Pair {
    NodeId src;
    NodeId dst;
    Block times;
  };

  /// Position in times_ of the pair's first event that is not before t.
  std::int64_t not_before(PairId pair, Timestamp t) const;
  /// Where the search for (u, v) in the hash table begins.
  std::size_t first_slot(NodeId u, NodeId v) const {
    const std::uint64_t key = static_cast<std::uint64_t>(u) << 32 | static_cast<std::uint64_t>(v);
    return ((key ^ key >> 29) * 0x9e3779b97f4a7c15 >> 20) & (table_.size() - 1);
  }
  /// The slot of (u, v) in the hash table: its own, or the free one where it belongs.
  std::size_t slot(NodeId u, NodeId v) const;
  /// The number of (u, v); a new one if the pair is new.
  PairId number(NodeId u, NodeId v);
  void rehash();
  void group_times(std::span<const PairId> pair_of_link, std::span<const Timestamp> link_times);
  void group_by_source(NodeId num_nodes);
  void append_pair(NodeId u, NodeId v, Timestamp t);

  Partnership partnership_;
  Pages<Pair> pairs_;       // [P]
  Pages<Timestamp> times_;  // grouped by pair, ascending
  BlockRoom times_room_;
  Pages<PairId> table_;            // open addressing, a power of two slots
  Pages<Block> sources_;           // [N]: where each u is in the two below
  Pages<PairId> pairs_by_source_;  // by first time
  Pages<Timestamp> first_times_;   // of those pairs: what the prefix search reads
  BlockRoom sources_room_;
};

template <class Allowed>
std::int64_t History::draw(NodeId u, Timestamp t, Rng& rng, DrawScratch& scratch,
                           std::span<Partner> out, const Allowed& allowed) const {
  const std::span<const PairId> past = pairs_of_before(u, t);
  Partner* next = out.data();
  // One search finds both whether the pair occurs at t and when it last occurred before; a number
  // is usually taken right after it was allowed, so the last result is cached.
  std::int64_t searched = -1;
  std::int64_t at = 0;
  const auto search = [&](std::int64_t i) {
    if (i != searched) at = not_before(past[index(i)], t);
    searched = i;
  };
  return draw_distinct(
      0, static_cast<std::int64_t>(past.size()), static_cast<std::int64_t>(out.size()), rng,
      scratch,
      [&](std::int64_t i) {
        if (!allowed(dst(past[index(i)]))) return false;
        search(i);
        return at == pairs_[index(past[index(i)])].times.end || times_[index(at)] != t;
      },
      [&](std::int64_t i) {
        search(i);
        *next++ = {dst(past[index(i)]), times_[index(at - 1)]};
      });
}

/// Draws up to k distinct of the destinations that are allowed(node) and with which u has no event
/// in `pairs` at t, and passes each to take(node). Returns how many.
template <class Allowed, class Take>
std::int64_t draw_absent(const History& pairs, std::span<const NodeId> destinations, NodeId u,
                         Timestamp t, std::int64_t k, Rng& rng, DrawScratch& scratch,
                         const Allowed& allowed, const Take& take) {
  const auto node = [&](std::int64_t i) { return destinations[static_cast<std::size_t>(i)]; };
  return draw_distinct(
      0, static_cast<std::int64_t>(destinations.size()), k, rng, scratch,
      [&](std::int64_t i) { return allowed(node(i)) && !pairs.occurs_at(u, node(i), t); },
      [&](std::int64_t i) { take(node(i)); });
}
template <class Take>
std::int64_t draw_absent(const History& pairs, std::span<const NodeId> destinations, NodeId u,
                         Timestamp t, std::int64_t k, Rng& rng, DrawScratch& scratch,
                         const Take& take) {
  return draw_absent(
      pairs, destinations, u, t, k, rng, scratch, [](NodeId) { return true; }, take);
}

}  // namespace curnm
