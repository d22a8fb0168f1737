#include "curnm/graph/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "curnm/base/error.h"
#include "curnm/base/rng.h"

namespace curnm {
namespace {

std::vector<EventId> event_range(EventId begin, EventId end) {
  std::vector<EventId> ids(static_cast<std::size_t>(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

constexpr std::uint64_t kSeed = 2020;  // the split is part of the data set

void check_share(double share) {
  if (!(0 <= share && share <= 1)) fail("the hidden share {} must lie within 0 .. 1", share);
}

}  // namespace

double quantile(const Column<Timestamp>& ascending, double q) {
  CURNM_ASSERT(!ascending.empty() && q >= 0 && q <= 1);
  const double position = q * static_cast<double>(ascending.size() - 1);
  const auto lower = static_cast<std::int64_t>(position);
  const double fraction = position - static_cast<double>(lower);
  const double a = ascending[lower];
  const double b = ascending[std::min(lower + 1, ascending.size() - 1)];
  // From the nearer end, so that the result never leaves [a, b] by rounding.
  return fraction < 0.5 ? a + (b - a) * fraction : b - (b - a) * (1 - fraction);
}

namespace {

EventId first_at(const EventLog& log, Timestamp time, Boundary boundary) {
  const auto cut = boundary == Boundary::kLater
                       ? std::lower_bound(log.time.begin(), log.time.end(), time)
                       : std::upper_bound(log.time.begin(), log.time.end(), time);
  return static_cast<EventId>(cut - log.time.begin());
}

}  // namespace

Cuts cuts_by_quantile(const EventLog& log, Boundary boundary, double validation_quantile,
                      double test_quantile) {
  if (log.size() == 0) fail("the network has no events to split");
  if (!(0 <= validation_quantile && validation_quantile <= test_quantile && test_quantile <= 1)) {
    fail("the cuts {} and {} must ascend within 0 .. 1", validation_quantile, test_quantile);
  }
  return {first_at(log, quantile(log.time, validation_quantile), boundary),
          first_at(log, quantile(log.time, test_quantile), boundary)};
}

Cuts cuts_at(const EventLog& log, Timestamp validation_from, Timestamp test_from,
             Boundary boundary) {
  if (!(validation_from < test_from)) {
    fail("validation from {} and test from {}: the times must ascend", validation_from, test_from);
  }
  return {first_at(log, validation_from, boundary), first_at(log, test_from, boundary)};
}

Cuts cuts_by_roll(const EventLog& log, const Column<std::uint8_t>& roll) {
  CURNM_ASSERT(roll.size() == log.size());
  if (!std::is_sorted(roll.begin(), roll.end())) {
    fail(
        "the network's own split (ext_roll) is not chronological: train, validation and test "
        "events are interleaved; use the split by time instead");
  }
  const auto first = [&](std::uint8_t part) {
    return static_cast<EventId>(std::lower_bound(roll.begin(), roll.end(), part) - roll.begin());
  };
  return {first(1), first(2)};
}

std::vector<NodeId> hidden_by_id(std::span<const std::uint64_t> ids, double share) {
  check_share(share);
  std::vector<NodeId> hidden;
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (Rng(kSeed, Stream::kSplit, /*epoch=*/1, ids[node]).uniform() < share) {
      hidden.push_back(static_cast<NodeId>(node));
    }
  }
  return hidden;
}

std::vector<NodeId> hidden_from_test(const EventLog& log, EventId first_test, double share) {
  check_share(share);
  std::vector<char> tested(index(log.num_nodes), 0);
  for (EventId e = first_test; e < log.size(); ++e) {
    tested[index(log.src[e])] = tested[index(log.dst[e])] = 1;
  }
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < log.num_nodes; ++node) {
    if (tested[index(node)]) nodes.push_back(node);
  }
  const auto wanted = static_cast<std::size_t>(share * log.num_nodes);
  const std::size_t count = std::min(wanted, nodes.size());
  Rng rng(kSeed, Stream::kSplit);
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(nodes[i], nodes[i + rng.below(nodes.size() - i)]);
  }
  nodes.resize(count);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Split split(const EventLog& log, const Cuts& cuts, std::vector<NodeId> hidden) {
  const auto [first_validation, first_test] = cuts;
  Split parts{.validation = event_range(first_validation, first_test),
              .test = event_range(first_test, log.size()),
              .hidden = std::move(hidden),
              .first_validation = first_validation,
              .first_test = first_test};
  std::vector<char> is_hidden(index(log.num_nodes), 0);
  for (NodeId node : parts.hidden) is_hidden[index(node)] = 1;

  std::vector<char> trained(index(log.num_nodes), 0);
  for (EventId e = 0; e < first_validation; ++e) {
    if (is_hidden[index(log.src[e])] || is_hidden[index(log.dst[e])]) continue;
    parts.train.push_back(e);
    trained[index(log.src[e])] = trained[index(log.dst[e])] = 1;
  }
  const auto touching_new = [&](const std::vector<EventId>& events) {
    std::vector<EventId> touching;
    for (EventId e : events) {
      if (!trained[index(log.src[e])] || !trained[index(log.dst[e])]) touching.push_back(e);
    }
    return touching;
  };
  parts.new_validation = touching_new(parts.validation);
  parts.new_test = touching_new(parts.test);
  if (parts.train.empty() || parts.validation.empty() || parts.test.empty()) {
    if (log.size() > 0 && log.time.front() == log.time.back()) {
      fail("all {} events have the same time: there is no past to learn from", log.size());
    }
    std::int64_t times = 1;
    for (EventId e = 1; e < log.size(); ++e) times += log.time[e] != log.time[e - 1] ? 1 : 0;
    if (constexpr std::int64_t kFew = 10; log.size() > kFew && times <= kFew) {
      fail(
          "the {} events have {} times in all, and cuts between them leave {} training, {} "
          "validation and {} test events; --split at --validation-from T --test-from T cuts "
          "elsewhere",
          log.size(), times, parts.train.size(), parts.validation.size(), parts.test.size());
    }
    fail(
        "the network is too small to split: {} training, {} validation and {} test events "
        "({} events, {} nodes hidden from training)",
        parts.train.size(), parts.validation.size(), parts.test.size(), log.size(),
        parts.hidden.size());
  }
  return parts;
}

}  // namespace curnm
