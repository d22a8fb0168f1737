#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace curnm {

/// Numbers distinct keys as they come, so that work on them is done once.
class DistinctRows {
 public:
  /// Keys are 0 .. num_keys-1.
  explicit DistinctRows(std::int64_t num_keys)
      : row_of_(static_cast<std::size_t>(num_keys), kNone) {}

  /// The row of a key, a new one at the first call.
  std::int64_t row(std::int64_t key) {
    std::int32_t& row = row_of_[static_cast<std::size_t>(key)];
    if (row == kNone) {
      row = static_cast<std::int32_t>(keys_.size());
      keys_.push_back(key);
    }
    return row;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(keys_.size()); }
  /// By row.
  std::span<const std::int64_t> keys() const { return keys_; }

 private:
  static constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> row_of_;
  std::vector<std::int64_t> keys_;
};

}  // namespace curnm
