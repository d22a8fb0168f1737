#include "curnm/graph/statistics.h"

#include <algorithm>

#include "curnm/base/error.h"
#include "curnm/graph/temporal_graph.h"

namespace curnm {
namespace {

constexpr std::size_t kSlices = 60;

Quantiles quantiles(std::vector<double> values) {
  Quantiles result{.count = static_cast<std::int64_t>(values.size())};
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < Quantiles::kPoints.size(); ++i) {
    const double last = static_cast<double>(values.size() - 1);
    result.values[i] = values[static_cast<std::size_t>(Quantiles::kPoints[i] * last + 0.5)];
  }
  return result;
}

std::int64_t count_distinct(std::vector<std::uint64_t>& keys) {
  std::sort(keys.begin(), keys.end());
  return std::unique(keys.begin(), keys.end()) - keys.begin();
}

void count_pairs(const EventLog& log, Statistics& s) {
  const auto key = [](NodeId a, NodeId b) {
    return static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint64_t>(b);
  };
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(log.size()));
  for (EventId e = 0; e < log.size(); ++e) {
    keys[static_cast<std::size_t>(e)] = key(log.src[e], log.dst[e]);
  }
  s.directed_pairs = count_distinct(keys);
  for (EventId e = 0; e < log.size(); ++e) {
    const auto [low, high] = std::minmax(log.src[e], log.dst[e]);
    keys[static_cast<std::size_t>(e)] = key(low, high);
  }
  s.repetition = 1.0 - static_cast<double>(count_distinct(keys)) / static_cast<double>(s.events);
}

void count_over_time(const EventLog& log, Statistics& s) {
  s.first_time = log.time.front();
  s.last_time = log.time.back();
  s.events_over_time.assign(kSlices, 0);
  const double span = s.last_time - s.first_time;
  Timestamp previous = kNever;
  for (Timestamp t : log.time) {
    s.distinct_times += t != previous ? 1 : 0;
    previous = t;
    const double position = span > 0 ? (t - s.first_time) / span : 0;
    ++s.events_over_time[std::min(static_cast<std::size_t>(position * kSlices), kSlices - 1)];
  }
}

/// One pass over each source's own events, oldest first.
void follow_sources(const EventLog& log, Statistics& s) {
  std::vector<std::vector<EventId>> by_source(index(log.num_nodes));
  for (EventId e = 0; e < log.size(); ++e) by_source[index(log.src[e])].push_back(e);

  std::int64_t recent = 0;
  std::int64_t with_past = 0;
  double proximity_sum = 0;
  std::vector<NodeId> previous_partners;
  std::vector<NodeId> current_partners;
  for (const std::vector<EventId>& events : by_source) {
    previous_partners.clear();
    current_partners.clear();
    for (std::size_t i = 0; i < events.size(); ++i) {
      const EventId e = events[i];
      if (i > 0) {
        ++with_past;
        proximity_sum += (static_cast<double>(i) + 1) / 2;
        if (log.time[e] != log.time[events[i - 1]]) {
          previous_partners.swap(current_partners);
          std::sort(previous_partners.begin(), previous_partners.end());
          current_partners.clear();
        }
      }
      recent += std::binary_search(previous_partners.begin(), previous_partners.end(), log.dst[e]);
      current_partners.push_back(log.dst[e]);
    }
    s.sources += events.empty() ? 0 : 1;
  }
  s.recency = static_cast<double>(recent) / static_cast<double>(s.events);
  s.proximity = with_past == 0 ? 0 : proximity_sum / static_cast<double>(with_past);
}

void follow_nodes(const EventLog& log, Statistics& s) {
  const TemporalGraph graph(log);
  // As in the paper's table, d_max counts a self-loop twice; the graph has it once.
  std::vector<std::int64_t> loops(index(log.num_nodes), 0);
  for (EventId e = 0; e < log.size(); ++e) {
    if (log.src[e] == log.dst[e]) ++loops[index(log.src[e])];
  }
  std::vector<double> degrees;
  std::vector<double> gaps;
  for (NodeId node = 0; node < log.num_nodes; ++node) {
    const auto [begin, end] = graph.all(node);
    if (begin == end) continue;
    degrees.push_back(static_cast<double>(end - begin));
    s.d_max = std::max(s.d_max, end - begin + loops[index(node)]);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      const auto entry = static_cast<std::size_t>(i);
      gaps.push_back(graph.times()[entry] - graph.times()[entry - 1]);
    }
  }
  s.nodes = static_cast<std::int64_t>(degrees.size());
  s.degree = quantiles(std::move(degrees));
  s.gap = quantiles(std::move(gaps));
}

}  // namespace

Statistics compute_statistics(const EventLog& log, std::int64_t density_nodes) {
  if (log.size() == 0) fail("the network has no events");
  Statistics s{.events = log.size(), .bipartite = is_bipartite(log)};
  count_pairs(log, s);
  count_over_time(log, s);
  follow_sources(log, s);
  follow_nodes(log, s);

  std::vector<char> is_destination(index(log.num_nodes), 0);
  for (NodeId v : log.dst) is_destination[index(v)] = 1;
  s.destinations = std::count(is_destination.begin(), is_destination.end(), 1);
  for (EventId e = 0; e < log.size(); ++e) s.self_loops += log.src[e] == log.dst[e] ? 1 : 0;

  s.density_nodes = density_nodes > 0 ? density_nodes : s.nodes + 1;
  const auto v = static_cast<double>(s.density_nodes);
  s.density =
      2.0 * static_cast<double>(s.events) / (v * (v - 1) * static_cast<double>(s.distinct_times));
  return s;
}

}  // namespace curnm
