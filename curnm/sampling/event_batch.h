#pragma once

#include <cstdint>
#include <span>

#include "curnm/base/types.h"

namespace curnm {

/// B positives in time order. `events` are their numbers in the whole log, where features are
/// found.
struct EventBatch {
  std::span<const NodeId> src;      // [B]
  std::span<const NodeId> dst;      // [B]
  std::span<const Timestamp> time;  // [B]
  std::span<const EventId> events;  // [B]

  std::int64_t size() const { return static_cast<std::int64_t>(src.size()); }
};

}  // namespace curnm
