#include "curnm/curriculum/question_curriculum.h"

#include <algorithm>
#include <numeric>

#include "curnm/base/error.h"

namespace curnm {

QuestionCurriculum::QuestionCurriculum(const CurnmOptions& options)
    : curricula_(kQuestions.size(), Curriculum(options)) {
  shares_.fill(1.0 / static_cast<double>(kQuestions.size()));
}

std::map<Question, double> QuestionCurriculum::record(const std::map<Question, double>& ap) {
  std::map<Question, double> gains;
  std::array<double, kQuestions.size()> left = {};
  for (const auto& [question, value] : ap) {
    const auto q = static_cast<std::size_t>(question);
    if (const auto before = curricula_[q].last_metric()) gains[question] = value - *before;
    curricula_[q].record(value);
    left[q] = 1 - value;
  }
  const double sum = std::accumulate(left.begin(), left.end(), 0.0);
  if (!(sum > 0)) return gains;  // nothing is left, or a figure is not a number
  for (std::size_t q = 0; q < left.size(); ++q) {
    shares_[q] = 0.5 / static_cast<double>(kQuestions.size()) + 0.5 * left[q] / sum;
  }
  return gains;
}

std::vector<double> QuestionCurriculum::state() const {
  std::vector<double> all(shares_.begin(), shares_.end());
  for (const Curriculum& curriculum : curricula_) {
    const std::vector<double> state = curriculum.state();
    all.push_back(static_cast<double>(state.size()));
    all.insert(all.end(), state.begin(), state.end());
  }
  return all;
}

void QuestionCurriculum::set_state(std::span<const double> state) {
  constexpr const char* kNone = "the saved curriculum is none";
  check_saved(state.size() > shares_.size(), kNone);
  check_saved(std::all_of(state.begin(), state.begin() + std::ssize(shares_),
                          [](double share) { return share >= 0 && share <= 1; }),
              kNone);
  std::copy_n(state.begin(), shares_.size(), shares_.begin());
  state = state.subspan(shares_.size());
  for (Curriculum& curriculum : curricula_) {
    check_saved(
        !state.empty() && state.front() >= 0 && state.front() < static_cast<double>(state.size()),
        kNone);
    const auto size = static_cast<std::size_t>(state.front());
    curriculum.set_state(state.subspan(1, size));
    state = state.subspan(1 + size);
  }
}

}  // namespace curnm
