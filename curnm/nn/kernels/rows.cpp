#include "curnm/nn/kernels/rows.h"

#include <cstring>
#include <utility>

#include "curnm/base/parallel.h"
#include "curnm/nn/kernels/simd.h"

namespace curnm::kernels {
namespace {

constexpr std::int64_t kGrain = 64;  // rows that are worth a thread

CURNM_KERNEL void sum_rows(const float* values, std::span<const std::int32_t> members,
                           std::int64_t width, float* out) {
  std::memset(out, 0, static_cast<std::size_t>(width) * sizeof(float));
  for (std::int32_t i : members) {
    const float* row = values + i * width;
#pragma omp simd
    for (std::int64_t d = 0; d < width; ++d) out[d] += row[d];
  }
}

CURNM_KERNEL bool has_value(const float* row, std::int64_t width) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t d = 0; d < width; ++d) sum += std::abs(row[d]);
  return !(sum == 0);  // NaN is a value
}

}  // namespace

RowGroups RowGroups::of(std::span<const std::int64_t> rows, std::int64_t targets) {
  RowGroups groups;
  groups.offsets.assign(static_cast<std::size_t>(targets) + 1, 0);
  groups.members.resize(rows.size());
  for (std::int64_t row : rows) ++groups.offsets[static_cast<std::size_t>(row)];
  std::int32_t total = 0;
  for (std::int32_t& offset : groups.offsets) total += std::exchange(offset, total);
  std::vector<std::int32_t> next(groups.offsets.begin(), groups.offsets.end() - 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::int32_t& at = next[static_cast<std::size_t>(rows[i])];
    groups.members[static_cast<std::size_t>(at++)] = static_cast<std::int32_t>(i);
  }
  return groups;
}

void gather(const float* table, std::span<const std::int64_t> rows, std::int64_t width,
            float* out) {
  const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(float);
  parallel_for(std::ssize(rows), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::memcpy(out + i * width, table + rows[static_cast<std::size_t>(i)] * width, bytes);
    }
  });
}

void sum_groups(const float* values, const RowGroups& groups, std::int64_t width, float* out) {
  parallel_for(groups.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      sum_rows(values, groups.of_target(t), width, out + t * width);
    }
  });
}

std::vector<std::int64_t> rows_with_values(const float* matrix, std::int64_t rows,
                                           std::int64_t width) {
  std::vector<char> found(static_cast<std::size_t>(rows));
  parallel_for(rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      found[static_cast<std::size_t>(i)] = has_value(matrix + i * width, width) ? 1 : 0;
    }
  });
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (found[static_cast<std::size_t>(i)] != 0) list.push_back(i);
  }
  return list;
}

}  // namespace curnm::kernels
