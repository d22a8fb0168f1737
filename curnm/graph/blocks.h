#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "curnm/base/types.h"

namespace curnm {

/// Positions begin .. end-1 of some columns: the entries of a node or a pair, side by side.
struct Block {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Where a new entry went, and whether the entries before it had to move for that.
struct PlacedEntry {
  std::int64_t at = 0;
  Block moved;          // where the earlier entries were; empty if they stayed
  std::int64_t to = 0;  // where they begin now
};

/// The room of blocks that grow. A block that is full moves to the end of the columns and gets
/// twice the room, so that an entry costs O(1) on average and readers always see one stretch.
class BlockRoom {
 public:
  /// Of blocks without any spare room, in columns of `slots` positions.
  explicit BlockRoom(std::int64_t slots = 0) : slots_(slots) {}

  /// Positions of the columns, used or spare.
  std::int64_t slots() const { return slots_; }

  /// Makes room for one more entry at the end of block number `row`, and takes it. The caller moves
  /// the entries where `moved` says so, after enlarging its columns to `slots`.
  PlacedEntry place(std::int64_t row, Block& block) {
    if (std::ssize(spare_) <= row) spare_.resize(index(std::max(row + 1, 2 * std::ssize(spare_))));
    PlacedEntry placed;
    if (std::int64_t& spare = spare_[index(row)]; spare > 0) {
      --spare;
    } else {
      constexpr std::int64_t kLeast = 4;
      const std::int64_t room = std::max(kLeast, 2 * block.size());
      placed.moved = block;
      block = {slots_, slots_ + block.size()};
      spare = room - block.size() - 1;
      slots_ += room;
      placed.to = block.begin;
    }
    placed.at = block.end++;
    return placed;
  }

 private:
  std::vector<std::int64_t> spare_;  // of each block that has been touched
  std::int64_t slots_;
};

/// Puts a value where an entry was placed; earlier entries move with their block.
template <class Column, class T>
void put(Column& column, const PlacedEntry& placed, std::int64_t slots, T value) {
  if (std::ssize(column) < slots) column.resize(index(slots));
  std::copy_n(column.begin() + placed.moved.begin, placed.moved.size(), column.begin() + placed.to);
  column[index(placed.at)] = value;
}

}  // namespace curnm
