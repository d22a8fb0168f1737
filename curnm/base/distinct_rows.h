#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace curnm {

/// Numbers distinct keys in order of first appearance, so that work on each is done once.
///
/// The table over all keys belongs to the calling thread and is returned clean, so that the cost
/// depends on the keys used, not on how many exist: a batch of 200 events in a network of millions
/// of nodes clears only its own entries.
class DistinctRows {
 public:
  /// Keys are 0 .. num_keys-1.
  explicit DistinctRows(std::int64_t num_keys) : row_of_(borrow(num_keys)) {}
  ~DistinctRows() {
    for (const std::int64_t key : keys_) row_of_[static_cast<std::size_t>(key)] = kNone;
    clean_tables().push_back(std::move(row_of_));
  }
  DistinctRows(const DistinctRows& other) : DistinctRows(std::ssize(other.row_of_)) {
    for (const std::int64_t key : other.keys_) row(key);
  }
  DistinctRows& operator=(const DistinctRows&) = delete;

  /// The row of a key; the first call makes a new row.
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
  using Table = std::vector<std::int32_t>;
  static constexpr std::int32_t kNone = -1;

  /// Unused tables of this thread, filled with kNone.
  static std::vector<Table>& clean_tables() {
    thread_local std::vector<Table> tables;
    return tables;
  }
  static Table borrow(std::int64_t num_keys) {
    Table table;
    if (!clean_tables().empty()) {
      table = std::move(clean_tables().back());
      clean_tables().pop_back();
    }
    if (std::ssize(table) < num_keys) table.resize(static_cast<std::size_t>(num_keys), kNone);
    return table;
  }

  Table row_of_;  // may be longer than num_keys
  std::vector<std::int64_t> keys_;
};

}  // namespace curnm
