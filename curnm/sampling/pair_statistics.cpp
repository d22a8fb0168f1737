#include "curnm/sampling/pair_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/graph/search.h"

namespace curnm {
namespace {

constexpr std::int64_t kRecent = 32;
constexpr std::int64_t kRowsPerThread = 256;  // at least

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
  std::int64_t partners = 0;  // distinct
  Activity as_source;
  Activity as_destination;
  float age = 0;
  float age_as_source = 0;
  float age_as_destination = 0;
  float mean_gap = 0;
  float pace = 0;
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
  found.partners = std::ssize(past_.partners->pairs_of_before(node, t));
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
  const std::int64_t count = std::min(node.past.size(), kRecent);
  return past_.graph->partners().subspan(index(node.past.end - count), index(count));
}

std::vector<float> PairStatistics::of_nodes(const Roots& roots) const {
  std::vector<float> rows(roots.nodes.size() * kNodeStatistics.size());
  parallel_for(std::ssize(roots.nodes), kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = index(begin); i < index(end); ++i) {
      const Node found = node(roots.nodes[i], roots.times[i]);
      const std::array<float, kNodeStatistics.size()> row = {
          found.age,
          log_count(found.past.size()),
          log_count(found.partners),
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

void PairStatistics::write_pair(const Links& links, std::int64_t link, const Node& u, const Node& v,
                                const RecentPartners& of_u, float* out) const {
  const NodeId src = links.src()[index(link)];
  const NodeId dst = links.dst()[index(link)];
  const Timestamp t = u.t;
  const auto met = [&](NodeId from, const Node& source, NodeId to) {
    return source.as_source.count == 0 ? Activity{} : past_.pairs->before(from, to, t);
  };
  const Activity uv = met(src, u, dst);
  const Activity vu = src == dst ? uv : met(dst, v, src);
  const std::int64_t count = src == dst ? uv.count : uv.count + vu.count;
  const Timestamp last = std::max(uv.last, vu.last);
  const auto age = [&](Timestamp of) { return static_cast<float>(ages_(of, t)); };
  const float age_uv = age(uv.last);
  const float age_vu = vu.last == uv.last ? age_uv : age(vu.last);
  // Events after the pair's last one; all of them where there was none.
  const auto since = [&](const Node& node) {
    if (last == kNever) return node.past.size();
    const Timestamp after = std::nextafter(last, std::numeric_limits<Timestamp>::infinity());
    return node.past.end -
           first_not_before(past_.graph->times().data(), node.past.begin, node.past.end, after);
  };
  std::int32_t recent_uv = 0;
  std::int32_t common = 0;
  for (const NodeId partner : recent(v)) {
    recent_uv += partner == src ? 1 : 0;
    common += of_u.count(partner);
  }
  const std::array<float, kPairStatistics.size()> row = {
      u.age,
      v.age,
      last == uv.last ? age_uv : age_vu,
      log_count(count),
      log_count(u.past.size()),
      log_count(v.past.size()),
      log_count(u.partners),
      log_count(v.partners),
      share(count, u.past.size()),
      share(count, v.past.size()),
      age_uv,
      age_vu,
      log_count(uv.count),
      log_count(vu.count),
      u.age_as_source,
      v.age_as_destination,
      log_count(u.as_source.count),
      log_count(v.as_destination.count),
      log_count(since(u)),
      log_count(since(v)),
      log_count(of_u.count(dst)),
      log_count(recent_uv),
      log_count(common),
      u.pace,
      v.pace,
  };
  std::copy(row.begin(), row.end(), out);
}

std::vector<float> PairStatistics::of_pairs(const Links& links) const {
  const Roots roots = links.roots();
  std::vector<Node> nodes(roots.nodes.size());
  parallel_for(std::ssize(nodes), kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = index(begin); i < index(end); ++i) {
      nodes[i] = node(roots.nodes[i], roots.times[i]);
    }
  });
  std::vector<float> rows(index(links.size()) * kPairStatistics.size());
  parallel_for(links.size(), kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t root = -1;  // links of a source come together: its table is made once
    RecentPartners of_u({});
    for (std::int64_t link = begin; link < end; ++link) {
      if (const std::int64_t source = links.source_root(link); source != root) {
        root = source;
        of_u = RecentPartners(recent(nodes[index(root)]));
      }
      write_pair(links, link, nodes[index(root)], nodes[index(links.destination()[index(link)])],
                 of_u, rows.data() + index(link) * kPairStatistics.size());
    }
  });
  return rows;
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
