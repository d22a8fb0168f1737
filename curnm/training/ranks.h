#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "curnm/distributed/group.h"
#include "curnm/evaluation/goal.h"
#include "curnm/nn/tensor_file.h"
#include "curnm/training/batches.h"
#include "curnm/training/learner.h"

namespace curnm {

/// How the ranks of a training share its epochs. Without a group there is one rank, which does
/// everything.
///
/// `batch_ranks` consecutive ranks are a team: they share every batch (shared_batches.h), and have
/// the same memory. By default each rank is a team of its own.
///
/// Teams share memories: the stream of training events is cut into as many stretches as there are
/// teams. In each epoch every team learns from one of them, in the next epoch from the one after
/// it, and after the last from the first: each has a memory of its own, which goes once around the
/// stream in as many epochs as there are teams. So an epoch learns from every event once, and one
/// team is at the end of the stream after it: its first rank validates.
class Ranks {
 public:
  /// REQUIRES: the group, unless it is null, outlives this object; `batch_ranks` divides its size.
  explicit Ranks(Group* group = nullptr, int batch_ranks = 1);

  bool alone() const { return group_ == nullptr; }
  int rank() const { return alone() ? 0 : group_->rank(); }
  int size() const { return alone() ? 1 : group_->size(); }
  bool first() const { return rank() == 0; }
  Group* group() const { return group_; }

  int batch_ranks() const { return batch_ranks_; }
  int teams() const { return size() / batch_ranks_; }
  int first_of_team(int rank) const { return rank - rank % batch_ranks_; }

  /// The part of an epoch that is this rank's, or another's.
  Stretch stretch(std::int64_t events, std::int64_t epoch) const {
    return stretch(events, epoch, rank());
  }
  Stretch stretch(std::int64_t events, std::int64_t epoch, int rank) const;
  /// Which rank is at the end of the stream after that epoch, the first one of its team.
  int last_of_stream(std::int64_t epoch) const;

  /// Whether any rank says so.
  bool any(bool mine) const;
  /// What rank 0 says.
  bool as_first_says(bool mine) const;
  /// What the rank at the end of the stream has found.
  Validation from_last(const Validation& mine, std::int64_t epoch) const;
  /// Gives rank 0 what the rank at the end of the stream has; nothing to others.
  TensorFile to_first(TensorFile mine, std::int64_t epoch) const;

  /// Gives all ranks what the miner of each remembers of this epoch. `learned_by`: the events that
  /// a rank has learned from in it.
  void share(NegativeMiner& miner,
             const std::function<std::vector<Stretch>(int rank)>& learned_by) const;
  /// Where ranks have come to different weights or states of the optimiser, all take those of rank
  /// 0; returns whether they had to.
  bool take_weights_of_first(Learner& learner) const;
  /// Spent in calls of the group so far, most of them waiting for others.
  double seconds_in_calls() const { return alone() ? 0 : group_->traffic().seconds; }
  /// Texts of all ranks, by rank.
  std::vector<std::string> all(std::string_view mine) const;

 private:
  Group* group_;
  int batch_ranks_;
};

/// A rank that the others waited for.
struct Straggler {
  int rank = 0;
  double seconds = 0;  // that one of them waited longer than it
};
/// The slowest rank of an epoch of so many seconds, if others lost a good part of it to that rank.
/// `waited`: seconds that each rank spent in the calls of its steps. All of them take part in
/// those, so that whoever comes last waits least.
std::optional<Straggler> find_straggler(const std::vector<double>& waited, double seconds);

}  // namespace curnm
