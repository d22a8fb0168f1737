#pragma once

#include <vector>

#include "curnm/sampling/event_batch.h"
#include "curnm/sampling/links.h"
#include "curnm/sampling/question.h"

namespace curnm {

/// The scores of some pairs; higher is likelier.
struct Scores {
  std::int64_t outputs = 1;   // Q: one for everything, or one for each Question
  std::vector<float> values;  // [n,Q]

  /// Those of the output that answers a question, [n].
  std::vector<float> of(Question question) const;
  /// One score for everything, comparable with publications: the sum of all outputs. [n]
  std::vector<float> single() const;

  bool operator==(const Scores&) const = default;
};

/// Processes that evaluate together: each scores some of the batches, and all get all scores. By
/// default there is one.
class EvaluationTeam {
 public:
  virtual ~EvaluationTeam() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  /// The values of all of them, one after the other. All have to call it.
  virtual std::vector<double> join(const std::vector<double>& mine) const { return mine; }
};

/// Anything that scores links: a trained model or a rule without parameters.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// `now` is the time of the first event of the batch that is being evaluated.
  virtual Scores score(const Pairs& pairs, Timestamp now) = 0;

  /// Shows the scorer the positives of a batch, after all scores of that batch.
  virtual void observe(const EventBatch&) {}

  /// Those that evaluate the same together, each with a scorer in the same state.
  virtual const EvaluationTeam& team() const {
    static const EvaluationTeam alone;
    return alone;
  }
};

}  // namespace curnm
