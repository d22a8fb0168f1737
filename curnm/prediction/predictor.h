#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "curnm/evaluation/scorer.h"
#include "curnm/graph/keep.h"
#include "curnm/prediction/explanation.h"
#include "curnm/prediction/top_query.h"
#include "curnm/prediction/trained_model.h"
#include "curnm/sampling/links.h"

namespace curnm {

/// Answers queries about links from a trained model and the events so far, without training or
/// evaluation code.
///
/// An answer uses everything that happened strictly before the query time, including events of
/// nodes that were hidden from training; or, with `keep`, everything that is kept of it: the memory
/// of a model has seen all events, but what is looked up begins with the first kept one. It does
/// not depend on other queries or on later events, to the bit.
///
/// Thread-safe: queries may come from several threads at once. Those after the last event share one
/// state; an earlier one replays the log up to its time.
class Predictor {
 public:
  /// `events`: the network of the training, possibly grown since. Throws UnusableRun if it is
  /// another network, and what make_model throws.
  Predictor(TrainedModel model, Dataset events, const Keep& keep = {});
  ~Predictor();
  Predictor(Predictor&&) noexcept;

  const TrainedModel& model() const;
  const Dataset& dataset() const;

  /// Throws Error, with the nearest id, for a node that the network does not have.
  NodeId find(std::string_view id) const;
  /// The same, also by its name in a source whose two kinds of nodes are kept apart: 5 where user 5
  /// and item 5 have become user:5 and item:5. `like` is some node in the same role.
  NodeId find(std::string_view id, NodeId like) const;
  /// The same; kNoNode for a node that the network does not have.
  NodeId find_known(std::string_view id, NodeId like) const;

  /// The logits of the pairs, by the output that answers the question.
  std::vector<float> score(const Pairs& pairs, Question question = Question::kPair) const;

  /// Why the pairs score as they do. Logits are those of `score`, to the bit. Throws Error for a
  /// time before which nothing has happened.
  std::vector<Explanation> explain(const Pairs& pairs, Question question = Question::kPair) const;
  /// The names of an explanation's parts.
  std::vector<std::string> explained_parts() const;

  /// What may be predicted for src at t: every node that was a destination before, including hidden
  /// nodes and those added after training; src itself only if the network has self-loops. Events at
  /// t or later have no influence.
  std::vector<NodeId> choices(NodeId src, Timestamp t, Seen seen = Seen::kIncluded) const;
  /// Every node that was a source before t; in a network that is not bipartite, in either role.
  /// Ascending.
  std::vector<NodeId> sources(Timestamp t) const;
  /// The k most likely choices, best first; ties go to the lower node number. Throws Error if
  /// there is no choice: nothing has happened before t.
  std::vector<Prediction> top(NodeId src, Timestamp t, std::int64_t k,
                              Question question = Question::kDestination,
                              Seen seen = Seen::kIncluded) const;
  /// The same for many sources, as `query` says, each passed to `answer` in turn: one replay, every
  /// node embedded once, in memory that does not depend on the number of sources. The same bits as
  /// one source at a time. The answer to a source without a choice is empty; throws Error where
  /// nothing has happened before t and there are no candidates. REQUIRES: k >= 1.
  void top(std::span<const NodeId> sources, Timestamp t, const TopQuery& query,
           const TopAnswer& answer) const;

  /// What may be looked up about all events, forgotten ones too.
  Past past() const;
  /// The model after the first `events` events, to be shown further ones: for evaluations.
  /// REQUIRES: this object outlives the scorer.
  std::unique_ptr<Scorer> scorer_after(EventId events) const;
  /// The embeddings of nodes at t, [n,D], and D.
  struct Embeddings {
    std::vector<float> values;
    std::int64_t width = 0;
  };
  Embeddings embed(std::span<const NodeId> nodes, Timestamp t) const;

 private:
  const NodeNames& names() const;

  struct Parts;
  class FollowerScorer;
  std::unique_ptr<Parts> parts_;
};

/// The state of a model after all whole batches of the events, for TrainedModel. Computed from the
/// weights alone.
void add_state(TrainedModel& model, const Dataset& events);

}  // namespace curnm
