#pragma once

#include <memory>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/data/dataset.h"
#include "curnm/evaluation/negatives.h"
#include "curnm/graph/split.h"
#include "curnm/graph/temporal_graph.h"
#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/indices.h"

namespace curnm {

/// Positives in time order, with the numbers of their events in the whole log.
struct EventSet {
  EventLog log;
  std::vector<EventId> events;

  EventSet(const EventLog& whole, std::vector<EventId> ids);
  std::int64_t size() const { return log.size(); }
  EventBatch batch(std::int64_t begin, std::int64_t end) const;
};

/// Positives with the negatives of every protocol: the input of an evaluation. Drawn once, the same
/// for every model, miner and epoch.
struct EvaluationSet {
  EventSet positives;
  std::vector<Negatives> negatives;  // by protocol, in the order of protocols()
  // What a ranking draws from: every possible destination, hidden nodes included, and the pairs
  // that tell which of them the source meets at the time. Of the task, or of the time before the
  // test where validation must not see it.
  std::vector<NodeId> destinations;
  const History* pairs;

  /// How many positives have a negative that the protocol asks for.
  std::int64_t genuine(Protocol protocol) const {
    return negatives[static_cast<std::size_t>(protocol)].genuine;
  }
  bool measures(Protocol protocol) const { return genuine(protocol) > 0; }
};

/// Draws the negatives of every protocol. `known`: the events that may be known of, which give the
/// destinations of rankings. REQUIRES: `histories.full` outlives the set.
std::unique_ptr<EvaluationSet> make_evaluation_set(EventSet positives, const EventLog& known,
                                                   const EvaluationHistories& histories,
                                                   Timestamp observed_until,
                                                   const NegativeOptions& options);

enum class SplitBy { kTime, kRoll, kAt };
constexpr ChoiceNames<3> choice_names(SplitBy) { return {"time", "roll", "at"}; }

/// Whether what exists only later may change training or validation.
enum class Lookahead {
  kNone,  // never: hidden nodes by a key over their ids, validation negatives from the time before
          // the test
  kPublished,  // as in the public programs: hidden nodes drawn from those of the test events,
               // validation negatives from the nodes of all events
};
constexpr ChoiceNames<2> choice_names(Lookahead) { return {"none", "published"}; }

/// How a network becomes a task; part of a run's record.
struct TaskOptions {
  SplitBy split = SplitBy::kTime;
  double validation_from = 0;
  double test_from = 0;
  Boundary boundary = Boundary::kLater;
  Lookahead lookahead = Lookahead::kNone;
  double hidden_share = 0.10;
  std::int64_t evaluation_batch = 200;
  std::uint64_t negative_seed = 0;
  Collisions collisions = Collisions::kNotOfSource;
  std::int64_t rank_among = 100;

  void fields(const FieldVisitor& visit);
  /// Throws OptionError for values that conflict.
  void check() const;
  NegativeOptions negatives() const {
    return {.seed = negative_seed, .batch_size = evaluation_batch, .collisions = collisions};
  }
};

/// The nodes that destinations are drawn from: the destinations of the events if the network is
/// bipartite, otherwise all their nodes.
std::vector<NodeId> destinations_of(const EventLog& log, bool bipartite);

/// Link prediction on one network: the split, the indices over the events that may be known, and
/// the evaluation sets. Immutable; models and trainers keep references to it.
///
/// Training sees the training events alone, without those of hidden nodes. Evaluation sees the
/// whole network, strictly before the time of each query.
class LinkTask {
 public:
  /// Throws UsageError for impossible options, Error when the network is too small to split.
  explicit LinkTask(Dataset dataset, const TaskOptions& options = {});
  LinkTask(const LinkTask&) = delete;  // its sets point into it
  LinkTask& operator=(const LinkTask&) = delete;

  const Dataset& dataset() const { return dataset_; }
  /// Digest of the data set; computed once, since that reads all of it.
  const std::string& data_digest() const { return data_digest_; }
  const EventLog& log() const { return dataset_.events; }
  const Split& split() const { return split_; }
  const EventSet& train() const { return train_; }
  /// Between the last training and the first test event, hidden nodes included.
  const EvaluationSet& validation() const { return *validation_; }
  const EvaluationSet& test() const { return *test_; }
  /// Null if there is no such event, or too few destinations for a negative.
  const EvaluationSet* new_test() const { return new_test_.get(); }

  /// What training may look up: the training events.
  Past train_past() const { return train_indices_.past(); }
  /// What an evaluation may look up: all events.
  Past past() const { return indices_.past(); }
  const TemporalGraph& train_graph() const { return train_indices_.graph; }
  const TemporalGraph& graph() const { return indices_.graph; }
  const History& train_partners() const { return train_indices_.partners; }
  const History& pairs() const { return indices_.pairs; }
  const History& partners() const { return indices_.partners; }
  const std::vector<NodeId>& train_destinations() const { return train_destinations_; }
  const TaskOptions& options() const { return options_; }
  /// Events per batch of an evaluation: what the batch-mean figures average over, and the step in
  /// which a model observes what it is tested on.
  std::int64_t evaluation_batch() const { return options_.evaluation_batch; }

  /// Of the indices, which are most of its memory and the same wherever the data is.
  void visit_memory(const PageVisitor& visit) const;

 private:
  /// `known`: the events that may be known of.
  std::unique_ptr<EvaluationSet> make_set(std::vector<EventId> ids, const EventLog& known,
                                          const EvaluationHistories& histories,
                                          Timestamp observed_until) const;

  Dataset dataset_;
  std::string data_digest_;
  TaskOptions options_;
  Split split_;
  EventSet train_;
  Indices train_indices_;
  Indices indices_;
  std::vector<NodeId> train_destinations_;
  std::unique_ptr<const History> pairs_before_test_;  // null if validation may see all pairs
  std::unique_ptr<EvaluationSet> validation_;
  std::unique_ptr<EvaluationSet> test_;
  std::unique_ptr<EvaluationSet> new_test_;
};

}  // namespace curnm
