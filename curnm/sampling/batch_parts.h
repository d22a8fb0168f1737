#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace curnm {

/// What a loss asks about a whole batch of which this program has only a part: several ranks may
/// share a batch. By default the part is the whole.
///
/// All ranks that share a batch have to make the same calls in the same order.
class BatchParts {
 public:
  virtual ~BatchParts() = default;

  /// Whether there are no other parts.
  virtual bool whole() const { return true; }

  /// Replaces the values by their sums over the parts.
  virtual void sum(std::span<double>) const {}

  /// The values of all parts, in the order of the batch; those of this part begin at `begin`.
  struct Joined {
    std::vector<float> values;
    std::size_t begin = 0;
  };
  /// Joins each of some lists with the same one of the other parts.
  virtual std::vector<Joined> join(std::vector<std::vector<float>> lists) const {
    std::vector<Joined> joined;
    for (std::vector<float>& list : lists) joined.push_back({.values = std::move(list)});
    return joined;
  }
};

/// For those that have the whole batch.
inline const BatchParts& whole_batch() {
  static const BatchParts whole;
  return whole;
}

}  // namespace curnm
