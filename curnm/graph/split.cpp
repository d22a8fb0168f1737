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

/// `share` of all nodes, drawn without replacement from those that appear in the test events.
std::vector<NodeId> draw_hidden(const EventLog& log, EventId first_test,
                                const SplitOptions& options) {
  std::vector<char> tested(index(log.num_nodes), 0);
  for (EventId e = first_test; e < log.size(); ++e) {
    tested[index(log.src[e])] = tested[index(log.dst[e])] = 1;
  }
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < log.num_nodes; ++node) {
    if (tested[index(node)]) nodes.push_back(node);
  }
  const auto wanted = static_cast<std::size_t>(options.hidden_share * log.num_nodes);
  const std::size_t count = std::min(wanted, nodes.size());
  Rng rng(options.seed, Stream::kSplit);
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(nodes[i], nodes[i + rng.below(nodes.size() - i)]);
  }
  nodes.resize(count);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Split cut(const EventLog& log, EventId first_validation, EventId first_test,
          std::vector<NodeId> hidden) {
  Split split{.validation = event_range(first_validation, first_test),
              .test = event_range(first_test, log.size()),
              .hidden = std::move(hidden),
              .first_validation = first_validation,
              .first_test = first_test};
  std::vector<char> is_hidden(index(log.num_nodes), 0);
  for (NodeId node : split.hidden) is_hidden[index(node)] = 1;

  std::vector<char> trained(index(log.num_nodes), 0);
  for (EventId e = 0; e < first_validation; ++e) {
    if (is_hidden[index(log.src[e])] || is_hidden[index(log.dst[e])]) continue;
    split.train.push_back(e);
    trained[index(log.src[e])] = trained[index(log.dst[e])] = 1;
  }
  const auto touching_new = [&](const std::vector<EventId>& events) {
    std::vector<EventId> touching;
    for (EventId e : events) {
      if (!trained[index(log.src[e])] || !trained[index(log.dst[e])]) touching.push_back(e);
    }
    return touching;
  };
  split.new_validation = touching_new(split.validation);
  split.new_test = touching_new(split.test);
  if (split.train.empty() || split.validation.empty() || split.test.empty()) {
    if (log.size() > 0 && log.time.front() == log.time.back()) {
      fail("all {} events have the same time: there is no past to learn from", log.size());
    }
    fail(
        "the network is too small to split: {} training, {} validation and {} test events "
        "({} events, {} nodes hidden from training)",
        split.train.size(), split.validation.size(), split.test.size(), log.size(),
        split.hidden.size());
  }
  return split;
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

Split split_by_time(const EventLog& log, const SplitOptions& options) {
  if (log.size() == 0) fail("the network has no events to split");
  if (!(0 <= options.validation_quantile && options.validation_quantile <= options.test_quantile &&
        options.test_quantile <= 1 && 0 <= options.hidden_share && options.hidden_share <= 1)) {
    fail("the cuts {} and {} must ascend within 0 .. 1, and the hidden share {} lie there too",
         options.validation_quantile, options.test_quantile, options.hidden_share);
  }
  const auto first_after = [&](double q) {
    const double time = quantile(log.time, q);
    const auto cut = options.boundary == Boundary::kLater
                         ? std::lower_bound(log.time.begin(), log.time.end(), time)
                         : std::upper_bound(log.time.begin(), log.time.end(), time);
    return static_cast<EventId>(cut - log.time.begin());
  };
  const EventId first_validation = first_after(options.validation_quantile);
  const EventId first_test = first_after(options.test_quantile);
  return cut(log, first_validation, first_test, draw_hidden(log, first_test, options));
}

Split split_by_roll(const EventLog& log, const Column<std::uint8_t>& roll) {
  CURNM_ASSERT(roll.size() == log.size());
  if (!std::is_sorted(roll.begin(), roll.end())) {
    fail(
        "the network's own split (ext_roll) is not chronological: train, validation and test "
        "events are interleaved; use the split by time instead");
  }
  const auto first = [&](std::uint8_t part) {
    return static_cast<EventId>(std::lower_bound(roll.begin(), roll.end(), part) - roll.begin());
  };
  return cut(log, first(1), first(2), {});
}

}  // namespace curnm
