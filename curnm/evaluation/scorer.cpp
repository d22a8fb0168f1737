#include "curnm/evaluation/scorer.h"

#include <numeric>

#include "curnm/base/error.h"

namespace curnm {

std::vector<float> Scores::of(Question question) const {
  if (outputs == 1) return values;
  CURNM_ASSERT(outputs == std::ssize(kQuestions));
  std::vector<float> found;
  found.reserve(values.size() / index(outputs));
  for (std::size_t i = static_cast<std::size_t>(question); i < values.size(); i += index(outputs)) {
    found.push_back(values[i]);
  }
  return found;
}

std::vector<float> Scores::single() const {
  std::vector<float> sums;
  sums.reserve(values.size() / index(outputs));
  for (auto row = values.begin(); row != values.end(); row += outputs) {
    sums.push_back(std::accumulate(row, row + outputs, 0.0F));
  }
  return sums;
}

}  // namespace curnm
