#include "curnm/evaluation/task.h"

#include <algorithm>

#include "curnm/base/digest.h"
#include "curnm/base/error.h"
#include "curnm/graph/distinct_nodes.h"

namespace curnm {
namespace {

std::vector<NodeId> hidden_nodes(const Dataset& dataset, const Cuts& cuts,
                                 const TaskOptions& options) {
  if (options.split == SplitBy::kRoll) return {};
  if (options.lookahead == Lookahead::kPublished) {
    return hidden_from_test(dataset.events, cuts.first_test, options.hidden_share);
  }
  std::vector<std::uint64_t> ids;
  for (NodeId node = 0; node < dataset.events.num_nodes; ++node) {
    ids.push_back(hash64(dataset.ids.name(node)));
  }
  return hidden_by_id(ids, options.hidden_share);
}

Cuts make_cuts(const Dataset& dataset, const TaskOptions& options) {
  switch (options.split) {
    case SplitBy::kTime:
      return cuts_by_quantile(dataset.events, options.boundary);
    case SplitBy::kAt:
      return cuts_at(dataset.events, options.validation_from, options.test_from, options.boundary);
    case SplitBy::kRoll:
      break;
  }
  if (dataset.roll.empty()) {
    throw OptionError(OptionError::Kind::kValue, "split",
                      fmt::format("--split roll: {} has no split of its own", dataset.name));
  }
  return cuts_by_roll(dataset.events, dataset.roll);
}

Split make_split(const Dataset& dataset, TaskOptions& options) {
  check_ranges(options);
  options.check();
  const Cuts cuts = make_cuts(dataset, options);
  return split(dataset.events, cuts, hidden_nodes(dataset, cuts, options));
}

}  // namespace

void TaskOptions::fields(const FieldVisitor& visit) {
  const bool roll = split == SplitBy::kRoll;
  const std::string_view own_split = roll ? "--split roll" : "";
  const std::string_view no_times = split == SplitBy::kAt ? "" : "a split that is not `at` times";
  visit({.name = "split",
         .help = "time (70/15/15), at (given times) or roll (the network's own, TGL's ext_roll)"},
        split);
  visit({.name = "validation-from",
         .help = "first time of validation, a number or a date (UTC without a zone)",
         .is_time = true,
         .idle = no_times},
        validation_from);
  visit({.name = "test-from",
         .help = "first time of the test, likewise",
         .is_time = true,
         .idle = no_times},
        test_from);
  visit({.name = "boundary",
         .help = "events at a cut belong to the later (paper) or earlier part (DyGLib)",
         .idle = own_split},
        boundary);
  visit(
      {.name = "lookahead",
       .help = "none: what exists only later changes neither training nor validation; "
               "published: hidden nodes come from the test, validation negatives from all events"},
      lookahead);
  visit({.name = "hidden-share",
         .help = "share of nodes hidden from training",
         .min = 0,
         .max = 0.9,
         .idle = own_split},
        hidden_share);
  visit({.name = "evaluation-batch",
         .help = "events per batch of the batch-mean figures",
         .min = 1,
         .max = 1e6},
        evaluation_batch);
  visit({.name = "negative-seed", .help = "of the evaluation negatives", .min = 0}, negative_seed);
  visit({.name = "collisions",
         .help = "may a negative be an event at its time: allowed (as published), source (not "
                 "where the source is kept), nowhere"},
        collisions);
  visit({.name = "rank-among",
         .help = "destinations, drawn for each event, that the true one is ranked among (0: none; "
                 "as many as there are: all)",
         .min = 0,
         .max = 1e9},
        rank_among);
}

void TaskOptions::check() const {
  if (split != SplitBy::kAt || validation_from < test_from) return;
  throw OptionError(
      OptionError::Kind::kConflict, "test-from",
      fmt::format("--test-from {} is not after --validation-from {}", test_from, validation_from));
}

std::vector<NodeId> destinations_of(const EventLog& log, bool bipartite) {
  std::vector<NodeId> nodes(log.dst.begin(), log.dst.end());
  if (!bipartite) nodes.insert(nodes.end(), log.src.begin(), log.src.end());
  return distinct_nodes(std::move(nodes));
}

EventSet::EventSet(const EventLog& whole, std::vector<EventId> ids)
    : log(select(whole, ids)), events(std::move(ids)) {}

EventBatch EventSet::batch(std::int64_t begin, std::int64_t end) const {
  return EventBatch{log.src.span(), log.dst.span(), log.time.span(), events}.part(
      static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
}

LinkTask::LinkTask(Dataset dataset, const TaskOptions& options)
    : dataset_(std::move(dataset)),
      data_digest_(dataset_.digest()),
      options_(options),
      split_(make_split(dataset_, options_)),
      train_(log(), split_.train),
      train_indices_(log(), split_.train, train_.log),
      indices_(log()),
      train_destinations_(destinations_of(train_.log, is_bipartite(train_.log))) {
  const EvaluationHistories all{&pairs(), &partners(), &pairs()};
  const Timestamp validation_start = log().time[split_.first_validation];
  const Timestamp test_start = log().time[split_.first_test];
  if (options_.lookahead == Lookahead::kPublished) {
    validation_ = make_set(split_.validation, log(), all, validation_start);
  } else {
    const EventLog before_test = head(log(), split_.first_test);
    pairs_before_test_ = std::make_unique<const History>(before_test);
    const History known_partners(before_test, Partnership::kMutual);
    validation_ = make_set(split_.validation, before_test,
                           {pairs_before_test_.get(), &known_partners, pairs_before_test_.get()},
                           validation_start);
  }
  test_ = make_set(split_.test, log(), all, test_start);

  const EventLog fresh = select(log(), split_.new_test);
  const bool several_destinations = std::adjacent_find(fresh.dst.begin(), fresh.dst.end(),
                                                       std::not_equal_to<>()) != fresh.dst.end();
  if (several_destinations) {
    const History universe(fresh);
    new_test_ = make_set(split_.new_test, log(), {&pairs(), &partners(), &universe}, test_start);
  }
}

void LinkTask::visit_memory(const PageVisitor& visit) const {
  train_indices_.visit_memory(visit);
  indices_.visit_memory(visit);
  if (pairs_before_test_) pairs_before_test_->visit_memory(visit);
}

std::unique_ptr<EvaluationSet> LinkTask::make_set(std::vector<EventId> ids, const EventLog& known,
                                                  const EvaluationHistories& histories,
                                                  Timestamp observed_until) const {
  return make_evaluation_set(EventSet(log(), std::move(ids)), known, histories, observed_until,
                             options_.negatives());
}

std::unique_ptr<EvaluationSet> make_evaluation_set(EventSet positives, const EventLog& known,
                                                   const EvaluationHistories& histories,
                                                   Timestamp observed_until,
                                                   const NegativeOptions& options) {
  auto set = std::make_unique<EvaluationSet>(
      EvaluationSet{.positives = std::move(positives),
                    .negatives = {},
                    .destinations = destinations_of(known, is_bipartite(known)),
                    .pairs = histories.full});
  const NegativeSampler sampler(histories, observed_until);
  for (const Protocol protocol : all_protocols()) {
    set->negatives.push_back(sampler.draw(set->positives.log, protocol, options));
  }
  return set;
}

}  // namespace curnm
