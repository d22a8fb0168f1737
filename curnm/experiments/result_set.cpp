#include "curnm/experiments/result_set.h"

namespace curnm {

double find_score(const RunResult& run, std::string_view set, std::string_view protocol,
                  std::string_view metric) {
  for (const Score& score : run.scores) {
    if (score.set == set && score.protocol == protocol && score.metric == metric) {
      return score.value;
    }
  }
  return kNoValue;
}

}  // namespace curnm
