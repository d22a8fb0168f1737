#pragma once

#include "curnm/distributed/group.h"
#include "curnm/sampling/batch_parts.h"
#include "curnm/sampling/event_batch.h"

namespace curnm {

/// The batches that all ranks of a group share: each learns from a part, and knows of the whole
/// what the loss needs.
class SharedBatches final : public BatchParts {
 public:
  /// REQUIRES: the group outlives this object.
  explicit SharedBatches(Group& group) : group_(group) {}

  int ranks() const { return group_.size(); }

  /// What this rank learns from: a part of the batch, or all of it if it has fewer positives than
  /// there are ranks. Then all of them compute the same.
  EventBatch part_of(const EventBatch& batch) const { return part_of(batch, group_.rank()); }
  EventBatch part_of(const EventBatch& batch, int rank) const {
    return batch.size() < ranks() ? batch : batch.shared_part(rank, ranks());
  }

  bool whole() const override { return false; }
  void sum(std::span<double> values) const override { group_.sum(values); }
  std::vector<Joined> join(std::vector<std::vector<float>> lists) const override;

 private:
  Group& group_;
};

}  // namespace curnm
