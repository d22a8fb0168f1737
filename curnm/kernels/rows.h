#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "curnm/base/parallel.h"

// Rows of matrices: gathering them, and adding up their gradients. All sums have a fixed order, so
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

/// Calls body(begin, end) for ranges of targets, one per thread, with about as many members each.
/// REQUIRES: what body does for a target depends on that target alone.
template <class Body>
void parallel_groups(const RowGroups& groups, const Body& body) {
  constexpr std::int64_t kGrain = 64;  // minimum members and targets per thread
  const auto work_before = [&](std::int64_t target) {
    return groups.offsets[static_cast<std::size_t>(target)] + target;
  };
  const std::int64_t all = work_before(groups.size());
  const auto parts = static_cast<int>(std::clamp<std::int64_t>(all / kGrain, 1, num_threads()));
  std::vector<std::int64_t> bounds = {0};
  for (int part = 1; part <= parts; ++part) {
    std::int64_t low = bounds.back();
    std::int64_t high = groups.size();
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (work_before(middle) * parts < all * part) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    bounds.push_back(low);
  }
  parallel_chunks(parts, parts, [&](int part, std::int64_t, std::int64_t) {
    const auto at = static_cast<std::size_t>(part);
    body(bounds[at], bounds[at + 1]);
  });
}

/// out[i] = table[rows[i]], rows of `width` floats that begin a stride apart.
void gather(const float* table, std::int64_t table_stride, std::span<const std::int64_t> rows,
            std::int64_t width, float* out, std::int64_t out_stride);
inline void gather(const float* table, std::span<const std::int64_t> rows, std::int64_t width,
                   float* out) {
  gather(table, width, rows, width, out, width);
}

/// out[i] = table[rows[i]]·(1 + factor[i]·weight), element by element.
struct ScaledInput {
  std::int64_t width = 0;
  std::span<const std::int64_t> rows;  // [n]
  const float* table = nullptr;        // [.,width]
  const float* factor = nullptr;       // [n]
  const float* weight = nullptr;       // [width]
};
void gather_scaled(const ScaledInput& in, float* out);
/// Gradients of the table's `targets` rows and of the weight.
void gather_scaled_backward(const ScaledInput& in, std::int64_t targets, const float* dout,
                            float* dtable, float* dweight);

/// out[rows[i]] += values[i]. REQUIRES: the rows are distinct.
void add_rows(const float* values, std::span<const std::int64_t> rows, std::int64_t width,
              float* out);

/// out[t] = sum of values[i] over the members i of t: the transpose of `gather`.
void sum_groups(const float* values, const RowGroups& groups, std::int64_t width, float* out);

/// Sums over all rows are cut into this many parts whatever the number of threads, so that their
/// order is fixed.
inline constexpr int kRowParts = 16;
/// out[width] = the sum of the rows of a [kRowParts, width] matrix.
void add_parts(std::span<const float> parts, std::int64_t width, float* out);

/// out[width] = the sum of all rows of a matrix whose rows are `stride` apart.
void sum_rows(const float* matrix, std::int64_t rows, std::int64_t width, std::int64_t stride,
              float* out);

/// Which rows of a [rows, width] matrix have a value that is not 0, ascending.
std::vector<std::int64_t> rows_with_values(const float* matrix, std::int64_t rows,
                                           std::int64_t width);

}  // namespace curnm::kernels
