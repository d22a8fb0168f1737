#pragma once

#include <cstdint>

#include "curnm/base/types.h"

namespace curnm {

/// The first position in begin .. end whose time is not before t, in ascending `times`.
/// Branch-free: samplers search for unpredictable times, and a mispredicted branch costs more than
/// the step that it saves.
inline std::int64_t first_not_before(const Timestamp* times, std::int64_t begin, std::int64_t end,
                                     Timestamp t) {
  const Timestamp* base = times + begin;
  std::int64_t count = end - begin;
  while (count > 1) {
    const std::int64_t half = count / 2;
    base += base[half - 1] < t ? half : 0;
    count -= half;
  }
  return base - times + (count == 1 && *base < t ? 1 : 0);
}

}  // namespace curnm
