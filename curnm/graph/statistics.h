#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "curnm/graph/event_log.h"

namespace curnm {

/// Minimum, quartiles, 90 % and 99 % points and maximum of something.
struct Quantiles {
  static constexpr std::array<double, 7> kPoints = {0, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
  std::array<double, kPoints.size()> values{};
  std::int64_t count = 0;
};

/// The columns of the paper's table of data sets, with definitions inferred from the published
/// files, and further statistics.
struct Statistics {
  std::int64_t nodes = 0;   // with at least one event
  std::int64_t events = 0;  // E
  std::int64_t sources = 0;
  std::int64_t destinations = 0;
  std::int64_t directed_pairs = 0;  // distinct (src, dst)
  std::int64_t distinct_times = 0;  // T
  std::int64_t self_loops = 0;
  bool bipartite = false;
  Timestamp first_time = 0;
  Timestamp last_time = 0;

  /// Mean of (p + 1) / 2 over events whose source had p >= 1 earlier events as source.
  double proximity = 0;
  /// Share of events (u, v, t) whose v is a partner of u at u's previous distinct time as source.
  double recency = 0;
  /// 1 - distinct undirected pairs / events.
  double repetition = 0;
  /// Largest number of events that touch one node, in either role.
  std::int64_t d_max = 0;
  /// 2 E / (V (V - 1) T). The paper counts the padding node, so V = nodes + 1.
  double density = 0;
  std::int64_t density_nodes = 0;  // that V

  std::vector<std::int64_t> events_over_time;  // equal slices of the time span
  Quantiles degree;                            // events per node
  Quantiles gap;                               // time between consecutive events of one node
};

/// O(E log E). `density_nodes`: the V of the density where a publication counted otherwise; 0 =
/// N+1.
Statistics compute_statistics(const EventLog& log, std::int64_t density_nodes = 0);

}  // namespace curnm
