#include "curnm/sampling/pair_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/graph/distinct_nodes.h"
#include "curnm/graph/search.h"
#include "curnm/sampling/transitions.h"

namespace curnm {
namespace {

constexpr std::size_t kLastMet = PairFacts::kLastMet;
constexpr std::int64_t kRowsPerThread = 256;  // at least
constexpr std::int64_t kAhead = 8;            // links whose memory is fetched

float log_count(std::int64_t count) {
  // Nearly all counts are small.
  static const std::array<float, 1024> logs = [] {
    std::array<float, 1024> table;
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = static_cast<float>(std::log1p(static_cast<double>(i)));
    }
    return table;
  }();
  return count < std::ssize(logs) ? logs[index(count)]
                                  : static_cast<float>(std::log1p(static_cast<double>(count)));
}

float share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<float>(part) / static_cast<float>(whole);
}

}  // namespace

AgeScale AgeScale::of(std::span<const Timestamp> times) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] > times[i - 1]) least = std::min(least, times[i] - times[i - 1]);
  }
  AgeScale scale;
  if (!std::isfinite(least)) return scale;  // one time only: there are no ages
  scale.unit = least;
  scale.never = scale.log_length(times.back() - times.front()) + 1;
  return scale;
}

double AgeScale::log_length(double length) const { return std::log1p(length / unit); }

double AgeScale::operator()(Timestamp last, Timestamp t) const {
  return last == kNever ? never : std::min(log_length(t - last), never);
}

/// What is known of a node at a time, whomever it may meet.
struct PairStatistics::Node {
  Timestamp t = 0;
  TemporalGraph::Range past;  // entries of the T-CSR
  PairFacts::Node facts;
  Activity as_source;
  Activity as_destination;
  float age = 0;
  float age_as_source = 0;
  float age_as_destination = 0;
  float mean_gap = 0;
  float pace = 0;
  // Whom it met at its newest times, as Transitions has it, and in how many events these were.
  std::array<NodeId, kLastMet> last_met;
  std::array<std::int64_t, kLastMet> events_of_last_met;
};

/// How often each node is among the newest partners of another: a table of a few cache lines.
struct PairStatistics::RecentPartners {
  static constexpr std::size_t kSlots = 128;
  std::array<NodeId, kSlots> nodes;
  std::array<std::int32_t, kSlots> counts;

  explicit RecentPartners(std::span<const NodeId> partners) {
    nodes.fill(kNoNode);
    for (const NodeId node : partners) {
      const std::size_t at = slot(node);
      counts[at] = nodes[at] == node ? counts[at] + 1 : 1;
      nodes[at] = node;
    }
  }
  std::int32_t count(NodeId node) const {
    const std::size_t at = slot(node);
    return nodes[at] == node ? counts[at] : 0;
  }

 private:
  std::size_t slot(NodeId node) const {
    std::size_t at = (static_cast<std::uint32_t>(node) * 0x9e3779b1U) >> 25;
    while (nodes[at] != node && nodes[at] != kNoNode) at = (at + 1) % kSlots;
    return at;
  }
};

PairStatistics::Node PairStatistics::node(NodeId node, Timestamp t) const {
  Node found{.t = t,
             .past = past_.graph->before(node, t),
             .age = static_cast<float>(ages_.never),
             .age_as_source = static_cast<float>(ages_.never),
             .age_as_destination = static_cast<float>(ages_.never),
             .mean_gap = static_cast<float>(ages_.never)};
  const std::int64_t events = found.past.size();
  if (events == 0) return found;
  const auto times = past_.graph->times();
  const Timestamp first = times[index(found.past.begin)];
  const Timestamp last = times[index(found.past.end - 1)];
  found.facts = {events, std::ssize(past_.partners->pairs_of_before(node, t)), first, last};
  found.as_source = past_.roles->as_source(found.past);
  found.as_destination = past_.roles->as_destination(found.past);
  found.age = static_cast<float>(ages_(last, t));
  const auto age = [&](const Activity& activity) {
    return activity.last == last ? found.age : static_cast<float>(ages_(activity.last, t));
  };
  found.age_as_source = age(found.as_source);
  found.age_as_destination = age(found.as_destination);
  if (events > 1) {
    const double gap = (last - first) / static_cast<double>(events - 1);
    found.mean_gap = static_cast<float>(ages_.log_length(gap));
    found.pace = found.age - found.mean_gap;
  }
  return found;
}

std::span<const NodeId> PairStatistics::recent(const Node& node) const {
  const std::int64_t count = std::min(node.past.size(), kRecentEvents);
  return past_.graph->partners().subspan(index(node.past.end - count), index(count));
}

void PairStatistics::find_last_met(Node& node) const {
  const auto partners = past_.graph->partners();
  const auto times = past_.graph->times();
  node.last_met.fill(kNoNode);
  std::int64_t at = node.past.end;
  for (std::size_t i = 0; i < kLastMet && at > node.past.begin; ++i) {
    const std::int64_t newest = at - 1;
    while (at > node.past.begin && times[index(at - 1)] == times[index(newest)]) {
      if (newest - --at == Transitions::kMostAtOnce) return;
    }
    node.last_met[i] = partners[index(newest)];
    node.events_of_last_met[i] = past_.graph->before(node.last_met[i], node.t).size();
  }
}

std::array<PairFacts::Next, kLastMet> PairStatistics::next(const Node& node, NodeId to) const {
  std::array<PairFacts::Next, kLastMet> next;
  for (std::size_t i = 0; i < kLastMet && node.last_met[i] != kNoNode; ++i) {
    next[i] = {past_.transitions->before(node.last_met[i], to, node.t), node.events_of_last_met[i]};
  }
  return next;
}

std::vector<float> PairStatistics::of_nodes(const Roots& roots) const {
  std::vector<float> rows(roots.nodes.size() * kNodeStatistics.size());
  parallel_for(std::ssize(roots.nodes), kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = index(begin); i < index(end); ++i) {
      const Node found = node(roots.nodes[i], roots.times[i]);
      const std::array<float, kNodeStatistics.size()> row = {
          found.age,
          log_count(found.past.size()),
          log_count(found.facts.partners),
          found.age_as_source,
          log_count(found.as_source.count),
          found.age_as_destination,
          log_count(found.as_destination.count),
          found.pace,
          found.mean_gap,
      };
      std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * row.size()));
    }
  });
  return rows;
}

std::int64_t PairStatistics::common_partners(const Node& u, const Node& v) const {
  const auto distinct = [&](const Node& node) {
    const std::span<const NodeId> all = recent(node);
    return distinct_nodes({all.begin(), all.end()});
  };
  const std::vector<NodeId> of_u = distinct(u);
  const std::vector<NodeId> of_v = distinct(v);
  return std::ranges::count_if(of_v,
                               [&](NodeId node) { return std::ranges::binary_search(of_u, node); });
}

PairFacts PairStatistics::facts(const Links& links, std::int64_t link, const Node& u, const Node& v,
                                const RecentPartners& of_u) const {
  const NodeId src = links.src()[index(link)];
  const NodeId dst = links.dst()[index(link)];
  const Timestamp t = u.t;
  const auto met = [&](NodeId from, const Node& source, NodeId to) {
    return source.as_source.count == 0 ? Activity{} : past_.pairs->before(from, to, t);
  };
  PairFacts found{.u = u.facts, .v = v.facts, .uv = met(src, u, dst)};
  found.vu = src == dst ? found.uv : met(dst, v, src);
  found.met = {src == dst ? found.uv.count : found.uv.count + found.vu.count,
               std::max(found.uv.last, found.vu.last)};
  const auto since = [&](const Node& node) {
    if (found.met.last == kNever) return node.past.size();
    const Timestamp after =
        std::nextafter(found.met.last, std::numeric_limits<Timestamp>::infinity());
    return node.past.end -
           first_not_before(past_.graph->times().data(), node.past.begin, node.past.end, after);
  };
  found.since_u = since(u);
  found.since_v = since(v);
  found.recent_vu = of_u.count(dst);
  for (const NodeId partner : recent(v)) {
    found.recent_uv += partner == src ? 1 : 0;
    found.recent_common += of_u.count(partner);
  }
  found.next_v = next(u, dst);
  found.next_u = next(v, src);
  return found;
}

void PairStatistics::write_pair(const PairFacts& facts, const Node& u, const Node& v,
                                float* out) const {
  const auto age = [&](Timestamp of) { return static_cast<float>(ages_(of, u.t)); };
  const auto share_of = [](const PairFacts::Next& next) {
    return share(next.went_on.count, next.events);
  };
  const float age_uv = age(facts.uv.last);
  const float age_vu = facts.vu.last == facts.uv.last ? age_uv : age(facts.vu.last);
  const std::array row = {
      u.age,
      v.age,
      facts.met.last == facts.uv.last ? age_uv : age_vu,
      log_count(facts.met.count),
      log_count(u.past.size()),
      log_count(v.past.size()),
      log_count(facts.u.partners),
      log_count(facts.v.partners),
      share(facts.met.count, u.past.size()),
      share(facts.met.count, v.past.size()),
      age_uv,
      age_vu,
      log_count(facts.uv.count),
      log_count(facts.vu.count),
      u.age_as_source,
      v.age_as_destination,
      log_count(u.as_source.count),
      log_count(v.as_destination.count),
      log_count(facts.since_u),
      log_count(facts.since_v),
      log_count(facts.recent_vu),
      log_count(facts.recent_uv),
      log_count(facts.recent_common),
      u.pace,
      v.pace,
      log_count(facts.next_v[0].went_on.count),
      share_of(facts.next_v[0]),
      age(facts.next_v[0].went_on.last),
      share_of(facts.next_v[1]),
      log_count(facts.next_u[0].went_on.count),
      share_of(facts.next_u[0]),
      age(facts.next_u[0].went_on.last),
      share_of(facts.next_u[1]),
  };
  static_assert(row.size() == kPairStatistics.size(), "each statistic has a value");
  std::copy(row.begin(), row.end(), out);
}

template <class Use>
void PairStatistics::for_each_pair(const Links& links, const Use& use) const {
  const Roots roots = links.roots();
  std::vector<Node> nodes(roots.nodes.size());
  parallel_for(std::ssize(nodes), kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = index(begin); i < index(end); ++i) {
      nodes[i] = node(roots.nodes[i], roots.times[i]);
      find_last_met(nodes[i]);
    }
  });
  // What `facts` looks up in tables that are larger than a cache.
  const auto prefetch = [&](std::int64_t link) __attribute__((always_inline)) {
    const NodeId src = links.src()[index(link)];
    const NodeId dst = links.dst()[index(link)];
    const Node& u = nodes[index(links.source_root(link))];
    const Node& v = nodes[index(links.destination()[index(link)])];
    past_.pairs->prefetch(src, dst);
    past_.pairs->prefetch(dst, src);
    for (std::size_t i = 0; i < kLastMet; ++i) {
      past_.transitions->prefetch(u.last_met[i], dst);
      past_.transitions->prefetch(v.last_met[i], src);
    }
  };
  parallel_for(links.size(), kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t root = -1;  // links of a source come together: its table is made once
    RecentPartners of_u({});
    for (std::int64_t link = begin; link < std::min(begin + kAhead, end); ++link) {
      prefetch(link);
    }
    for (std::int64_t link = begin; link < end; ++link) {
      if (link + kAhead < end) prefetch(link + kAhead);
      if (const std::int64_t source = links.source_root(link); source != root) {
        root = source;
        of_u = RecentPartners(recent(nodes[index(root)]));
      }
      const Node& u = nodes[index(root)];
      const Node& v = nodes[index(links.destination()[index(link)])];
      use(link, u, v, facts(links, link, u, v, of_u));
    }
  });
}

std::vector<float> PairStatistics::of_pairs(const Links& links) const {
  std::vector<float> rows(index(links.size()) * kPairStatistics.size());
  for_each_pair(links,
                [&](std::int64_t link, const Node& u, const Node& v, const PairFacts& facts) {
                  write_pair(facts, u, v, rows.data() + index(link) * kPairStatistics.size());
                });
  return rows;
}

std::vector<PairFacts> pair_facts(const Past& past, const Links& links) {
  const PairStatistics statistics(past, AgeScale{});  // facts have no scale
  std::vector<PairFacts> all(index(links.size()));
  statistics.for_each_pair(
      links, [&](std::int64_t link, const auto& u, const auto& v, const PairFacts& facts) {
        all[index(link)] = facts;
        all[index(link)].common_partners = statistics.common_partners(u, v);
      });
  return all;
}

Standardisation Standardisation::of(std::span<const float> rows, std::int64_t width) {
  CURNM_ASSERT(!rows.empty() && std::ssize(rows) % width == 0);
  const auto columns = index(width);
  const auto count = static_cast<double>(rows.size() / columns);
  std::vector<double> sum(columns, 0);
  std::vector<double> squares(columns, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) sum[i % columns] += rows[i];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double difference = rows[i] - sum[i % columns] / count;
    squares[i % columns] += difference * difference;
  }
  Standardisation result;
  for (std::size_t column = 0; column < columns; ++column) {
    const double deviation = std::sqrt(squares[column] / count);
    result.mean.push_back(static_cast<float>(sum[column] / count));
    // A constant stays 0; should it vary later, it is not blown up.
    result.deviation.push_back(deviation > 1e-6 ? static_cast<float>(deviation) : 1);
  }
  return result;
}

void Standardisation::apply(std::span<float> rows) const {
  constexpr float kLargest = 5;
  const auto width = std::ssize(mean);
  parallel_for(std::ssize(rows) / width, kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* values = rows.data() + row * width;
      for (std::size_t i = 0; i < mean.size(); ++i) {
        values[i] = std::clamp((values[i] - mean[i]) / deviation[i], -kLargest, kLargest);
      }
    }
  });
}

}  // namespace curnm
