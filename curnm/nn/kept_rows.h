#pragma once

#include <functional>
#include <span>
#include <vector>

#include "curnm/nn/tensor.h"

namespace curnm {

/// Rows of matrices by key, kept until they are no longer true: what was computed from the states
/// of nodes, for the next question.
///
/// Each key has a version that changes whenever its rows would; rows of another version count as
/// missing. Keeps kMostBytes, or what one call wants if that is more: then it starts anew. Not
/// thread-safe, but rows that have been found are never written to again while their versions are
/// the present ones, so that they may be read while others are added.
class KeptRows {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{128} << 20;

  /// Keys are 0 .. num_keys-1.
  explicit KeptRows(std::int64_t num_keys, std::int64_t most_bytes = kMostBytes)
      : most_bytes_(most_bytes), slot_of_(static_cast<std::size_t>(num_keys), kNone) {}

  struct Found {
    std::vector<Tensor> tables;      // as `compute` made them; undefined where nothing was wanted
    std::vector<std::int64_t> rows;  // of each key, in all tables
  };
  /// Makes rows of every table for keys that are missing, given as positions among those wanted;
  /// always as many tables of the same widths, some of which may be undefined.
  using Compute = std::function<std::vector<Tensor>(std::span<const std::int64_t> missing)>;

  /// REQUIRES: the keys are distinct; versions are not negative.
  Found find(std::span<const std::int64_t> keys, std::span<const std::int64_t> versions,
             const Compute& compute);

 private:
  static constexpr std::int32_t kNone = -1;

  void make_room(std::span<const std::int64_t> keys);
  void put(const std::vector<Tensor>& rows, std::span<const std::int64_t> slots);

  std::int64_t most_bytes_;
  std::vector<std::int32_t> slot_of_;   // [keys]
  std::vector<std::int64_t> versions_;  // [slots]
  std::vector<Tensor> tables_;          // [at least slots,.]
};

}  // namespace curnm
