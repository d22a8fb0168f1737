#pragma once

#include <cstdint>
#include <span>

#include "curnm/base/types.h"

namespace curnm {

/// B positives in time order. `events` are their numbers in the whole log, where features are
/// found; `first` is the position of the first one among the events that the batch was cut from.
struct EventBatch {
  std::span<const NodeId> src;      // [B]
  std::span<const NodeId> dst;      // [B]
  std::span<const Timestamp> time;  // [B]
  std::span<const EventId> events;  // [B]
  std::int64_t first = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(src.size()); }
  EventBatch part(std::size_t begin, std::size_t end) const {
    const std::size_t count = end - begin;
    return {src.subspan(begin, count), dst.subspan(begin, count), time.subspan(begin, count),
            events.subspan(begin, count), first + static_cast<std::int64_t>(begin)};
  }
};

}  // namespace curnm
