#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "curnm/experiments/tables.h"

// What results answer: who is best, whether that is more than chance, and whether it is more than
// counting knows. Numbers only, like tables.h; the runs must outlive them.

namespace curnm {

/// Trainings that want the same: all on one network.
struct Contest {
  std::string subject;  // the network; of variants also model and miner, where those differ
  std::vector<NamedRuns> contenders;
};
/// One per network. Contenders are named by what tells them apart: miner, model, or both.
std::vector<Contest> contests_of(const Grid& grid);
/// One per training that has variants.
std::vector<Contest> contests_of(const VariantGrid& grid);

struct Verdict {
  std::string subject;
  std::vector<std::string> best;  // all whose printed score is the highest
  Summary score;                  // of the first of them
  std::string next;               // the best of the others; "" if there is none
  double next_score = kNoValue;
  Comparison to_next;  // the first of the best minus the next
  BaselineScore rule;
  Standing to_rule = Standing::kUnknown;

  bool is_significant() const { return to_next.significant() && to_next.difference > 0; }
};

struct Verdicts {
  Measure measure;
  std::vector<Verdict> verdicts;  // of the contests in which anyone has a score
  /// The best is compared with each of the others of its contest, and Holm's correction goes over
  /// all of these: whoever is best of many is so by chance more often than one of two.
  std::int64_t comparisons = 0;
  bool single_seed = false;  // nobody has more than one
};
Verdicts verdicts_of(const std::vector<Contest>& contests, const Measure& measure);

}  // namespace curnm
