#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Rows of matrices: gathering them, and adding what comes back. All sums have a fixed order, so
// results do not depend on the number of threads.

namespace curnm::kernels {

/// Which members refer to each target: members[offsets[t] .. offsets[t+1]), ascending.
struct RowGroups {
  std::vector<std::int32_t> offsets;  // [targets+1]
  std::vector<std::int32_t> members;

  /// Member i refers to target rows[i]. REQUIRES: 0 <= rows[i] < targets.
  static RowGroups of(std::span<const std::int64_t> rows, std::int64_t targets);

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::span<const std::int32_t> of_target(std::int64_t target) const {
    const auto begin = static_cast<std::size_t>(offsets[static_cast<std::size_t>(target)]);
    const auto end = static_cast<std::size_t>(offsets[static_cast<std::size_t>(target) + 1]);
    return std::span(members).subspan(begin, end - begin);
  }
};

/// out[i] = table[rows[i]], rows of `width` floats.
void gather(const float* table, std::span<const std::int64_t> rows, std::int64_t width, float* out);

/// out[t] = sum of values[i] over the members i of t: the transpose of `gather`.
void sum_groups(const float* values, const RowGroups& groups, std::int64_t width, float* out);

/// Which rows of a [rows, width] matrix have a value that is not 0, ascending.
std::vector<std::int64_t> rows_with_values(const float* matrix, std::int64_t rows,
                                           std::int64_t width);

}  // namespace curnm::kernels
