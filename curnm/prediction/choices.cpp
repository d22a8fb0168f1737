#include "curnm/prediction/choices.h"

#include <algorithm>

namespace curnm {

std::vector<NodeId> Choices::of(NodeId src, Seen seen, Among among) {
  // Marked are former partners to choose among, without those that must not be seen again.
  const auto mark = [&](const History& pairs, char value) {
    for (const PairId pair : pairs.pairs_of_before(src, t_)) marks_[index(pairs.dst(pair))] = value;
  };
  const bool partners_only = among == Among::kPartners;
  const char wanted = partners_only ? 1 : 0;
  if (partners_only) mark(*past_.partners, 1);
  if (seen == Seen::kExcluded) mark(*past_.pairs, partners_only ? 0 : 1);
  std::vector<NodeId> choices;
  choices.reserve(partners_only ? 0 : destinations_.size());
  for (const NodeId node : destinations_) {
    if (marks_[index(node)] == wanted && (loops_ || node != src)) choices.push_back(node);
  }
  mark(*past_.partners, 0);  // a directed pair is a mutual one, too
  return choices;
}

}  // namespace curnm
