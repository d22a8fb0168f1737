#pragma once

#include <string>
#include <vector>

#include "curnm/distributed/group.h"
#include "curnm/evaluation/goal.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/training/batches.h"
#include "curnm/training/learner.h"

namespace curnm {

/// Memory parallelism: how the ranks of a training share its epochs. Without a group there is one
/// rank, which does everything.
///
/// The stream of training events is cut into as many stretches as there are ranks. In each epoch
/// every rank learns from one of them, in the next epoch from the one after it, and after the last
/// from the first: each has a memory of its own, which goes once around the stream in as many
/// epochs as there are ranks. So an epoch learns from every event once, and one rank is at the end
/// of the stream after it: this one validates.
class Ranks {
 public:
  /// REQUIRES: the group, unless it is null, outlives this object.
  explicit Ranks(Group* group = nullptr) : group_(group) {}

  bool alone() const { return group_ == nullptr; }
  int rank() const { return alone() ? 0 : group_->rank(); }
  int size() const { return alone() ? 1 : group_->size(); }
  bool first() const { return rank() == 0; }
  Group* group() const { return group_; }

  /// The part of an epoch that is this rank's, or another's.
  Stretch stretch(std::int64_t events, std::int64_t epoch) const {
    return stretch(events, epoch, rank());
  }
  Stretch stretch(std::int64_t events, std::int64_t epoch, int rank) const;
  /// Which rank is at the end of the stream after that epoch.
  int last_of_stream(std::int64_t epoch) const;

  /// Whether any rank says so.
  bool any(bool mine) const;
  /// What rank 0 says.
  bool as_first_says(bool mine) const;
  /// What the rank at the end of the stream has found.
  Validation from_last(const Validation& mine, std::int64_t epoch) const;
  /// Gives rank 0 what the rank at the end of the stream has; nothing to others.
  TensorFile to_first(TensorFile mine, std::int64_t epoch) const;

  /// Gives all ranks what the miner of each remembers of this epoch.
  void share(NegativeMiner& miner, std::int64_t events, std::int64_t epoch) const;
  /// Where ranks have come to different weights or states of the optimiser, all take those of rank
  /// 0; returns whether they had to.
  bool take_weights_of_first(Learner& learner) const;
  /// Texts of all ranks, by rank.
  std::vector<std::string> all(std::string_view mine) const;

 private:
  Group* group_;
};

}  // namespace curnm
