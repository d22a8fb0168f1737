#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "curnm/evaluation/evaluate.h"

// A test by periods, on events that a model has not learned from: does it age?

namespace curnm {

/// A stretch of time that is tested on its own: from <= t < to. The last one may include its end.
struct Period {
  Timestamp from = 0;
  Timestamp to = 0;
  EventId begin = 0;  // its events in the log
  EventId end = 0;
};

/// How time is cut: into parts of one length, or else into `count` equal ones.
struct PeriodLength {
  double length = 0;
  std::int64_t count = 8;
};
/// "day", "week" (of times in seconds), or a number of equal parts. Throws OptionError.
PeriodLength parse_periods(std::string_view text);

/// Cuts the time from `from` until before `to`, or to the last event including it. Periods without
/// events stay. Throws Error for a time without events, OptionError for too many periods.
std::vector<Period> cut_periods(const EventLog& log, Timestamp from, std::optional<Timestamp> to,
                                const PeriodLength& length);

struct BacktestOptions {
  NegativeOptions negatives;
  std::int64_t rank_among = 100;  // 0: no ranking
  /// The first event that neither taught nor chose the model: nodes without an event before it are
  /// new.
  EventId first_unseen = 0;
  /// Called after each period with the number of events tested so far.
  std::function<void(std::int64_t)> on_progress = {};
};

/// Tests a scorer period by period, and the rules that need no training beside it.
///
/// Each period is a test of its own kind: negatives, and the destinations of rankings, are drawn
/// from the events up to its end, and `inductive` pairs are those first seen in it, so that only
/// time tells periods apart. One period from the beginning of a test to the end of the log equals
/// `test_scorer` to the bit. `start` makes a scorer that has seen all events before the first
/// period; `past` is that of the whole log.
///
/// {"periods": [{"from", "to", "events", "new_node_events", "test": {...} or null, "rules":
/// {"random": AP, ..., "mrr": MRR} or null}], "all": {"events", "test": {"random": AP, ...},
/// "rules":
/// {...}}, "rules": {"random": name of the best rule over all periods, ...}, "change": {"random":
/// {"model": mean of the later half of the periods minus that of the earlier, "rule": ...}}}; of
/// what the periods can measure.
nlohmann::ordered_json backtest(const EventLog& log, const Past& past,
                                std::span<const Period> periods, const BacktestOptions& options,
                                const std::function<std::unique_ptr<Scorer>()>& start);

}  // namespace curnm
