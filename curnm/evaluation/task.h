#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

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

struct TaskOptions {
  SplitOptions split;
  NegativeOptions negatives;
};

/// Link prediction on one network: the split, the indices over what may be known, and the
/// evaluation sets. Immutable; models and trainers keep references to it.
///
/// Training sees the training events alone, without those of hidden nodes. Evaluation sees the
/// whole network, strictly before the time of each question.
class LinkTask {
 public:
  /// Throws Error when the network is too small to split.
  explicit LinkTask(Dataset dataset, const TaskOptions& options = {});

  const Dataset& dataset() const { return dataset_; }
  const EventLog& log() const { return dataset_.events; }
  const Split& split() const { return split_; }
  const EventSet& train() const { return train_; }
  /// Between the last training and the first test event, hidden nodes included.
  const EvaluationSet& validation() const { return *validation_; }
  const EvaluationSet& test() const { return *test_; }
  /// Null where no such event exists, or too few destinations for a negative.
  const EvaluationSet* new_validation() const { return new_validation_.get(); }
  const EvaluationSet* new_test() const { return new_test_.get(); }

  const TemporalGraph& train_graph() const { return train_graph_; }
  const TemporalGraph& graph() const { return graph_; }
  const History& train_pairs() const { return train_pairs_; }
  const History& train_partners() const { return train_partners_; }
  const History& pairs() const { return pairs_; }
  const History& partners() const { return partners_; }
  const std::vector<NodeId>& train_destinations() const { return train_destinations_; }
  const TaskOptions& options() const { return options_; }

 private:
  std::unique_ptr<EvaluationSet> make_set(const std::vector<EventId>& ids, const History* universe,
                                          Timestamp observed_until) const;

  Dataset dataset_;
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
  std::unique_ptr<EvaluationSet> validation_;
  std::unique_ptr<EvaluationSet> test_;
  std::unique_ptr<EvaluationSet> new_validation_;
  std::unique_ptr<EvaluationSet> new_test_;
};

}  // namespace curnm
