#pragma once

#include <cstdint>
#include <span>

#include "curnm/base/types.h"

namespace curnm {

/// B positives in time order. `events` are their numbers in the whole log, where features are
/// found; `first` is the position of the first one among the events that the batch was cut from.
///
/// Where ranks share a batch, each has a part of it, and what is said of "the batch" holds for all
/// of it.
struct EventBatch {
  std::span<const NodeId> src;      // [B]
  std::span<const NodeId> dst;      // [B]
  std::span<const Timestamp> time;  // [B]
  std::span<const EventId> events;  // [B]
  std::int64_t first = 0;
  std::span<const Timestamp> shared = {};  // of a part: the times of the whole batch
  std::int64_t offset = 0;                 // and how many of its positives come before this part

  std::int64_t size() const { return static_cast<std::int64_t>(src.size()); }

  bool is_part() const { return !shared.empty(); }
  std::span<const Timestamp> whole_time() const { return is_part() ? shared : time; }
  std::int64_t whole_size() const { return static_cast<std::int64_t>(whole_time().size()); }
  /// The part of one of the ranks that share this batch. REQUIRES: as many positives as ranks.
  EventBatch shared_part(std::int64_t rank, std::int64_t ranks) const {
    EventBatch mine = part(static_cast<std::size_t>(size() * rank / ranks),
                           static_cast<std::size_t>(size() * (rank + 1) / ranks));
    mine.shared = time;
    mine.offset = mine.first - first;
    return mine;
  }

  EventBatch part(std::size_t begin, std::size_t end) const {
    const std::size_t count = end - begin;
    return {src.subspan(begin, count), dst.subspan(begin, count), time.subspan(begin, count),
            events.subspan(begin, count), first + static_cast<std::int64_t>(begin)};
  }
};

}  // namespace curnm
