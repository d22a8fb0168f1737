#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

// The vocabulary of the whole library.
//
// Shapes in comments: B positives in a batch, M candidates each, K neighbours, L layers, D width,
// H heads, R roots (node, time), N nodes, E events, P distinct pairs. A trailing `// [R,K]` names
// the shape of the array on that line; all arrays are row-major.
//
// Time: events strictly before t are visible at t. Events at equal times are invisible to each
// other wherever neighbours and histories are concerned.

namespace curnm {

using NodeId = std::int32_t;   // dense, 0 .. N-1
using EventId = std::int64_t;  // position in the time-sorted log, 0 .. E-1
using Timestamp = double;      // never float: seconds since 1970 need 31 bits before the point

__extension__ using Wide = unsigned __int128;  // products of 64-bit numbers

inline constexpr NodeId kNoNode = -1;
inline constexpr EventId kNoEvent = -1;

/// The time of something that has not happened: earlier than every event.
inline constexpr Timestamp kNever = -std::numeric_limits<Timestamp>::infinity();

/// A time as a key: -0 and 0 are one time.
inline std::uint64_t bits_of(Timestamp time) {
  return std::bit_cast<std::uint64_t>(time == 0 ? 0.0 : time);
}

/// A node, event or row as a position in a container. REQUIRES: i >= 0.
constexpr std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace curnm
