#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/data/dataset.h"
#include "curnm/evaluation/negatives.h"
#include "curnm/graph/split.h"
#include "curnm/graph/temporal_graph.h"
#include "curnm/sampling/event_batch.h"

namespace curnm {

/// Positives in time order, with the numbers of their events in the whole log.
struct EventSet {
  EventLog log;
  std::vector<EventId> events;

  EventSet(const EventLog& whole, std::vector<EventId> ids);
  std::int64_t size() const { return log.size(); }
  EventBatch batch(std::int64_t begin, std::int64_t end) const;
};

/// Positives with the negatives of every protocol: what an evaluation is about. Drawn once, the
/// same for every model, miner and epoch.
struct EvaluationSet {
  EventSet positives;
  std::vector<Negatives> negatives;  // by protocol, in the order of protocols()
};

inline constexpr std::array<std::string_view, 2> kSplitChoices = {"time", "roll"};
inline constexpr std::array<std::string_view, 2> kBoundaryChoices = {"later", "earlier"};
inline constexpr std::array<std::string_view, 3> kCollisionChoices = {"allowed", "source",
                                                                      "nowhere"};

/// How a network becomes a task; part of a run's record.
struct TaskOptions {
  std::string split = "time";
  std::string boundary = "later";
  double hidden_share = 0.10;
  std::int64_t evaluation_batch = 200;
  std::uint64_t negative_seed = 0;
  std::string collisions = "source";

  template <class Visitor>
  void fields(Visitor&& visit) {
    visit(Field{.name = "split",
                .help = "time (70/15/15) or roll (the network's own, TGL's ext_roll)",
                .choices = kSplitChoices},
          split);
    visit(Field{.name = "boundary",
                .help = "events at a cut belong to the later (paper) or earlier part (DyGLib)",
                .choices = kBoundaryChoices},
          boundary);
    visit(Field{.name = "hidden-share",
                .help = "share of nodes hidden from training",
                .min = 0,
                .max = 0.9},
          hidden_share);
    visit(Field{.name = "evaluation-batch",
                .help = "events per batch of the batch-mean figures",
                .min = 1,
                .max = 1e6},
          evaluation_batch);
    visit(Field{.name = "negative-seed", .help = "of the evaluation negatives", .min = 0},
          negative_seed);
    visit(Field{.name = "collisions",
                .help = "may a negative be an event at its time: allowed (as published), source "
                        "(not where the source is kept), nowhere",
                .choices = kCollisionChoices},
          collisions);
  }
};

/// Link prediction on one network: the split, the indices over what may be known, and the
/// evaluation sets. Immutable; models and trainers keep references to it.
///
/// Training sees the training events alone, without those of hidden nodes. Evaluation sees the
/// whole network, strictly before the time of each question.
class LinkTask {
 public:
  /// Throws UsageError for impossible options, Error when the network is too small to split.
  explicit LinkTask(Dataset dataset, const TaskOptions& options = {});
  /// The task of a network as it was when it had `extent`: split, training and evaluation sets are
  /// those of then. What has come since is known to `log`, `graph` and `choices` alone, for who
  /// predicts from it.
  LinkTask(Dataset dataset, const TaskOptions& options, const Extent& extent);

  const Dataset& dataset() const { return dataset_; }
  /// Of the data set, in its extent: reading all of it is not for every checkpoint.
  const std::string& data_digest() const { return data_digest_; }
  const EventLog& log() const { return dataset_.events; }
  const Split& split() const { return split_; }
  const EventSet& train() const { return train_; }
  /// Between the last training and the first test event, hidden nodes included.
  const EvaluationSet& validation() const { return *validation_; }
  const EvaluationSet& test() const { return *test_; }
  /// Null where no such event exists, or too few destinations for a negative.
  const EvaluationSet* new_test() const { return new_test_.get(); }

  const TemporalGraph& train_graph() const { return train_graph_; }
  const TemporalGraph& graph() const { return graph_; }
  const History& train_pairs() const { return train_pairs_; }
  const History& train_partners() const { return train_partners_; }
  const History& pairs() const { return pairs_; }
  const History& partners() const { return partners_; }
  const std::vector<NodeId>& train_destinations() const { return train_destinations_; }
  /// Where negatives of a ranking come from: whatever may be predicted at some time, hidden nodes
  /// included, as in the protocol `random`.
  const std::vector<NodeId>& destinations() const { return destinations_; }
  /// What may be predicted for src at t: hidden and later nodes too, once they have been seen;
  /// src itself only where nodes meet themselves. What has come since the task's extent, at t or
  /// later, has no say in it.
  std::vector<NodeId> choices(NodeId src, Timestamp t) const;
  const TaskOptions& options() const { return options_; }
  /// Events per batch of an evaluation: what the batch-mean figures average over, and the step in
  /// which a model observes what it is tested on.
  std::int64_t evaluation_batch() const { return options_.evaluation_batch; }

 private:
  std::unique_ptr<EvaluationSet> make_set(const std::vector<EventId>& ids, const History* universe,
                                          Timestamp observed_until) const;

  Dataset dataset_;
  EventLog known_;  // the log in its extent
  std::string data_digest_;
  TaskOptions options_;
  Split split_;
  EventSet train_;
  TemporalGraph train_graph_;
  TemporalGraph graph_;
  History train_pairs_;
  History train_partners_;
  History pairs_;
  History partners_;
  std::vector<NodeId> train_destinations_;
  std::vector<NodeId> destinations_;
  std::unique_ptr<EvaluationSet> validation_;
  std::unique_ptr<EvaluationSet> test_;
  std::unique_ptr<EvaluationSet> new_test_;
};

}  // namespace curnm
