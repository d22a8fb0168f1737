#pragma once

#include <span>
#include <string_view>

#include "curnm/base/types.h"

namespace curnm {

/// A sliding memory: how much of the past may be looked up, for streams without an end. What came
/// before is forgotten: neighbours, statistics, and who may be a destination are those of a log
/// that begins later.
///
/// Events are forgotten a quarter at a time: indices are built anew then, and an event costs O(1).
/// So there are always as many events (as much time) as asked for, and up to a quarter more. What
/// is forgotten follows from how many events are known alone, so that it does not matter who asks
/// when.
struct Keep {
  std::int64_t events = 0;  // the newest ones; 0: all
  double age = 0;           // time before the newest event; 0: all

  bool everything() const { return events == 0 && age == 0; }

  /// The number of the first event that is kept when the first `known` ones have happened, the last
  /// of them at `newest`; it does not decrease with `known`. `times`: of the events from number
  /// `begin` on, or some of them; where none is late enough, the number after them.
  EventId first(EventId known, Timestamp newest, std::span<const Timestamp> times,
                EventId begin = 0) const;
  /// The same for the beginning of a log.
  EventId first(EventId known, std::span<const Timestamp> times) const {
    return known == 0 ? 0 : first(known, times[index(known - 1)], times);
  }
};

/// "100000" events, or an age with its unit: "90m", "12h", "30d", "8w", "500s"; units are those of
/// times in seconds. Nothing for an empty text: everything is kept. Throws OptionError.
Keep parse_keep(std::string_view text);

}  // namespace curnm
