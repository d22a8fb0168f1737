#pragma once

#include <array>
#include <map>
#include <vector>

#include "curnm/curriculum/curriculum.h"
#include "curnm/sampling/question.h"

namespace curnm {

/// A difficulty for each question, and its share of the negatives.
///
/// The difficulty pi of a question follows its own validation AP, by the paper's rule. Shares
/// follow what is left to learn: half of the negatives are divided alike, half in proportion to 1 -
/// AP. A question that is not validated, because the goal is another one, counts as answered.
class QuestionCurriculum {
 public:
  /// REQUIRES: `complete` has been called on the options.
  explicit QuestionCurriculum(const CurnmOptions& options);

  double pi(Question question) const {
    return curricula_[static_cast<std::size_t>(question)].difficulty().pi;
  }
  /// They add up to 1.
  double share(Question question) const { return shares_[static_cast<std::size_t>(question)]; }

  /// Takes the validation AP of each question that has one, at the end of an epoch. Returns what
  /// each has gained since the epoch before; nothing in the first.
  std::map<Question, double> record(const std::map<Question, double>& ap);

  std::vector<double> state() const;
  void set_state(std::span<const double> state);

 private:
  std::vector<Curriculum> curricula_;
  std::array<double, kQuestions.size()> shares_;
};

}  // namespace curnm
