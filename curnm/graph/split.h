#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "curnm/graph/event_log.h"

namespace curnm {

/// On which side of a cut the events at exactly its time fall.
enum class Boundary {
  kLater,    // train t < q70, validation q70 <= t < q85, test t >= q85 (the paper's program)
  kEarlier,  // train t <= q70, validation q70 < t <= q85, test t > q85 (DyGLib)
};

struct SplitOptions {
  double validation_quantile = 0.70;
  double test_quantile = 0.85;
  Boundary boundary = Boundary::kLater;
  double hidden_share = 0.10;  // of all nodes, drawn from the nodes of the test events
  std::uint64_t seed = 2020;   // of that draw alone: the split is part of the data set
};

/// Chronological train/validation/test parts of a log. The new-node parts are the validation and
/// test events that touch a node without a training event; hidden nodes make sure that there are
/// some.
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

/// Throws Error when a part would be empty.
Split split_by_time(const EventLog& log, const SplitOptions& options = {});

/// The parts that the data set itself names: 0 train, 1 validation, 2 test (TGL's `ext_roll`).
/// No node is hidden. Throws Error when a part is empty or the parts are not in this order.
Split split_by_roll(const EventLog& log, const Column<std::uint8_t>& roll);

/// The q-quantile of ascending values, interpolated linearly between neighbours (numpy's default).
double quantile(const Column<Timestamp>& ascending, double q);

}  // namespace curnm
