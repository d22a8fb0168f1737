#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "curnm/base/rng.h"

namespace curnm {

/// The set of numbers already taken. A few are scanned, more are hashed; clearing costs only what
/// was inserted, so that one set serves many draws.
class TakenSet {
 public:
  /// Prepares for up to `capacity` insertions and forgets everything.
  void reset(std::int64_t capacity) {
    for (std::size_t slot : used_) slots_[slot] = kEmpty;
    used_.clear();
    few_.clear();
    hashed_ = capacity > kScan;
    if (!hashed_) return;
    const std::size_t wanted = std::bit_ceil(static_cast<std::size_t>(capacity) * 2);
    if (slots_.size() < wanted) slots_.assign(wanted, kEmpty);
  }

  /// False when the value is there already. REQUIRES: value >= 0.
  bool insert(std::int64_t value) {
    if (contains(value)) return false;
    if (hashed_) {
      used_.push_back(probe(value));
      slots_[used_.back()] = value;
    } else {
      few_.push_back(value);
    }
    return true;
  }

  bool contains(std::int64_t value) const {
    return hashed_ ? slots_[probe(value)] == value
                   : std::find(few_.begin(), few_.end(), value) != few_.end();
  }

 private:
  static constexpr std::int64_t kScan = 16;
  static constexpr std::int64_t kEmpty = -1;

  // Linear probing: the value's slot, or the free one where it belongs.
  std::size_t probe(std::int64_t value) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (static_cast<std::uint64_t>(value) * 0x9e3779b97f4a7c15 >> 32) & mask;
    while (slots_[at] != kEmpty && slots_[at] != value) at = (at + 1) & mask;
    return at;
  }

  bool hashed_ = false;
  std::vector<std::int64_t> few_;
  std::vector<std::int64_t> slots_;
  std::vector<std::size_t> used_;  // slots to clear
};

/// Reusable memory of `draw_distinct`, one per thread.
struct DrawScratch {
  TakenSet taken;
  std::vector<std::int64_t> rest;
};

/// Draws up to k distinct numbers from {i in begin .. end-1 : allowed(i)}, uniformly without
/// replacement, and passes each to take(i). Returns how many were drawn (fewer than k only if the
/// set is smaller). The chosen set is random; if all of it is taken, the order is not.
///
/// Rejection first: O(k) while most numbers are allowed and free. After too many misses, the rest
/// is enumerated once and shuffled, so a set that is nearly or wholly forbidden costs O(end -
/// begin) and cannot hang. The switch does not bias the draw: each next number is uniform over
/// those that remain, however it is found.
template <class Allowed, class Take>
std::int64_t draw_distinct(std::int64_t begin, std::int64_t end, std::int64_t k, Rng& rng,
                           DrawScratch& scratch, const Allowed& allowed, const Take& take) {
  const std::int64_t n = end - begin;
  if (n <= 0 || k <= 0) return 0;
  std::int64_t drawn = 0;
  if (n <= k) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (!allowed(i)) continue;
      take(i);
      ++drawn;
    }
    return drawn;
  }

  scratch.taken.reset(k);
  if (n > 2 * k) {
    std::int64_t tries = 4 * k + 16;
    while (drawn < k && tries-- > 0) {
      const std::int64_t i =
          begin + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(n)));
      if (!scratch.taken.contains(i) && allowed(i)) {
        scratch.taken.insert(i);
        take(i);
        ++drawn;
      }
    }
    if (drawn == k) return drawn;
  }

  std::vector<std::int64_t>& rest = scratch.rest;
  rest.clear();
  for (std::int64_t i = begin; i < end; ++i) {
    if (!scratch.taken.contains(i) && allowed(i)) rest.push_back(i);
  }
  const auto left = static_cast<std::int64_t>(rest.size());
  for (std::int64_t j = 0; j < left && drawn < k; ++j, ++drawn) {
    const auto pick =
        j + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(left - j)));
    std::swap(rest[static_cast<std::size_t>(j)], rest[static_cast<std::size_t>(pick)]);
    take(rest[static_cast<std::size_t>(j)]);
  }
  return drawn;
}

}  // namespace curnm
