#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/graph/event_log.h"

namespace curnm {

/// On which side of a cut the events at exactly its time fall.
enum class Boundary {
  kLater,    // train t < q70, validation q70 <= t < q85, test t >= q85 (the paper's program)
  kEarlier,  // train t <= q70, validation q70 < t <= q85, test t > q85 (DyGLib)
};

constexpr ChoiceNames<2> choice_names(Boundary) { return {"later", "earlier"}; }

/// Where a log is cut.
struct Cuts {
  EventId first_validation = 0;
  EventId first_test = 0;
};
/// At the 0.70 and 0.85 quantiles of the times by default. Throws Error for a log without events
/// and for quantiles that do not ascend within 0 .. 1.
Cuts cuts_by_quantile(const EventLog& log, Boundary boundary = Boundary::kLater,
                      double validation_quantile = 0.70, double test_quantile = 0.85);
/// At two times. Throws Error unless they ascend.
Cuts cuts_at(const EventLog& log, Timestamp validation_from, Timestamp test_from,
             Boundary boundary = Boundary::kLater);
/// Between the parts that the data set itself names: 0 train, 1 validation, 2 test (TGL's
/// `ext_roll`). Throws Error when they are not in this order.
Cuts cuts_by_roll(const EventLog& log, const Column<std::uint8_t>& roll);

/// Each node with probability `share`, by a key over its id alone: no event influences it, so later
/// ones cannot either. `ids`: for each node a number that depends on its outside name only. Throws
/// Error for a share outside of 0 .. 1.
std::vector<NodeId> hidden_by_id(std::span<const std::uint64_t> ids, double share);

/// int(share·N) nodes, drawn from those of the test events, as the published programs do: training
/// then depends on which nodes appear later. Throws Error for a share outside of 0 .. 1.
std::vector<NodeId> hidden_from_test(const EventLog& log, EventId first_test, double share);

/// Chronological train/validation/test parts of a log. The new-node parts are the validation and
/// test events that touch a node without a training event; hidden nodes ensure that there are some.
struct Split {
  std::vector<EventId> train;           // ascending, without the events of hidden nodes
  std::vector<EventId> validation;      // ascending
  std::vector<EventId> test;            // ascending
  std::vector<EventId> new_validation;  // those of `validation` that touch an untrained node
  std::vector<EventId> new_test;        // likewise of `test`
  std::vector<NodeId> hidden;           // ascending
  EventId first_validation = 0;         // events before this one are the training period
  EventId first_test = 0;               // events before this one were observed before the test
};

/// `hidden`: ascending. Throws Error when a part would be empty.
Split split(const EventLog& log, const Cuts& cuts, std::vector<NodeId> hidden = {});

/// The q-quantile of ascending values, interpolated linearly between neighbours (numpy's default).
double quantile(const Column<Timestamp>& ascending, double q);

}  // namespace curnm
