#include "curnm/evaluation/task.h"

#include <algorithm>

#include "curnm/graph/distinct_nodes.h"

namespace curnm {
namespace {

/// Where destinations can be drawn from: those of the events of a bipartite network, all of their
/// nodes otherwise.
std::vector<NodeId> destinations_of(const EventLog& log, bool bipartite) {
  std::vector<NodeId> nodes(log.dst.begin(), log.dst.end());
  if (!bipartite) nodes.insert(nodes.end(), log.src.begin(), log.src.end());
  return distinct_nodes(std::move(nodes));
}

Split make_split(const Dataset& dataset, TaskOptions& options) {
  check_ranges(options);
  if (options.split == "roll") {
    if (dataset.roll.empty()) {
      throw UsageError(fmt::format("--split roll: {} has no split of its own", dataset.name));
    }
    return split_by_roll(dataset.events, dataset.roll);
  }
  return split_by_time(
      dataset.events,
      {.boundary = options.boundary == "later" ? Boundary::kLater : Boundary::kEarlier,
       .hidden_share = options.hidden_share});
}

NegativeOptions negative_options(const TaskOptions& options) {
  return {.seed = options.negative_seed,
          .batch_size = options.evaluation_batch,
          .collisions = options.collisions == "allowed"  ? Collisions::kAllowed
                        : options.collisions == "source" ? Collisions::kNotOfSource
                                                         : Collisions::kNowhere};
}

}  // namespace

EventSet::EventSet(const EventLog& whole, std::vector<EventId> ids)
    : log(select(whole, ids)), events(std::move(ids)) {}

EventBatch EventSet::batch(std::int64_t begin, std::int64_t end) const {
  return EventBatch{log.src.span(), log.dst.span(), log.time.span(), events}.part(
      static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
}

LinkTask::LinkTask(Dataset dataset, const TaskOptions& options)
    : LinkTask(dataset, options, dataset.extent()) {}

LinkTask::LinkTask(Dataset dataset, const TaskOptions& options, const Extent& extent)
    : dataset_(std::move(dataset)),
      known_(dataset_.head(extent).events),
      data_digest_(dataset_.head(extent).digest()),
      options_(options),
      split_(make_split(dataset_.head(extent), options_)),
      train_(log(), split_.train),
      train_graph_(log(), std::span<const EventId>(split_.train)),
      graph_(log()),
      train_pairs_(train_.log),
      train_partners_(train_.log, Partnership::kMutual),
      pairs_(known_),
      partners_(known_, Partnership::kMutual),
      train_destinations_(destinations_of(train_.log, is_bipartite(train_.log))),
      destinations_(destinations_of(known_, is_bipartite(known_))) {
  const Timestamp test_start = log().time[split_.first_test];
  validation_ = make_set(split_.validation, &pairs_, log().time[split_.first_validation]);
  test_ = make_set(split_.test, &pairs_, test_start);

  const EventLog fresh = select(log(), split_.new_test);
  const bool several_destinations = std::adjacent_find(fresh.dst.begin(), fresh.dst.end(),
                                                       std::not_equal_to<>()) != fresh.dst.end();
  if (several_destinations) {
    const History universe(fresh);
    new_test_ = make_set(split_.new_test, &universe, test_start);
  }
}

std::vector<NodeId> LinkTask::choices(NodeId src, Timestamp t) const {
  const auto times = log().time.span();
  const std::int64_t before = std::lower_bound(times.begin(), times.end(), t) - times.begin();
  // What kind of network it is was known when the task was made, and may have changed until t.
  const EventLog known = head(log(), std::max(before, known_.size()));
  std::vector<NodeId> nodes = destinations_of(head(log(), before), is_bipartite(known));
  if (!has_loops(known)) std::erase(nodes, src);
  return nodes;
}

std::unique_ptr<EvaluationSet> LinkTask::make_set(const std::vector<EventId>& ids,
                                                  const History* universe,
                                                  Timestamp observed_until) const {
  auto set = std::make_unique<EvaluationSet>(EvaluationSet{EventSet(log(), ids), {}});
  const NegativeSampler sampler({&pairs_, &partners_, universe}, observed_until);
  for (const ProtocolEntry& entry : protocols()) {
    set->negatives.push_back(
        sampler.draw(set->positives.log, entry.protocol, negative_options(options_)));
  }
  return set;
}

}  // namespace curnm
