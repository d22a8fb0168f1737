#include "curnm/kernels/rows.h"

#include <cstring>
#include <utility>

#include "curnm/base/error.h"
#include "curnm/kernels/simd.h"

namespace curnm::kernels {
namespace {

constexpr std::int64_t kGrain = 64;  // minimum rows per thread

CURNM_KERNEL void sum_members(const float* values, std::span<const std::int32_t> members,
                              std::int64_t width, float* out) {
  std::fill_n(out, width, 0.0F);
  for (std::int32_t i : members) axpy(1, values + i * width, out, width);
}

CURNM_KERNEL void sum_range(const float* matrix, std::int64_t rows, std::int64_t width,
                            std::int64_t stride, float* out) {
  for (std::int64_t i = 0; i < rows; ++i) axpy(1, matrix + i * stride, out, width);
}

CURNM_KERNEL void add_row(const float* row, std::int64_t width, float* out) {
  axpy(1, row, out, width);
}

CURNM_KERNEL void scale_row(const float* row, float factor, const float* weight, std::int64_t width,
                            float* out) {
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) out[d] = row[d] * (1 + factor * weight[d]);
}

CURNM_KERNEL void add_scaled_row(const float* dout, float factor, const float* weight,
                                 std::int64_t width, float* drow) {
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) drow[d] += dout[d] * (1 + factor * weight[d]);
}

CURNM_KERNEL void add_products(float factor, const float* a, const float* b, std::int64_t width,
                               float* out) {
#pragma omp simd
  for (std::int64_t d = 0; d < width; ++d) out[d] += factor * a[d] * b[d];
}

CURNM_KERNEL bool has_value(const float* row, std::int64_t width) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t d = 0; d < width; ++d) sum += std::abs(row[d]);
  return !(sum == 0);  // NaN counts as a value
}

}  // namespace

RowGroups RowGroups::of(std::span<const std::int64_t> rows, std::int64_t targets) {
  CURNM_ASSERT(rows.size() <= INT32_MAX);
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

void gather(const float* table, std::int64_t table_stride, std::span<const std::int64_t> rows,
            std::int64_t width, float* out, std::int64_t out_stride) {
  if (width == 0) return;  // pointers may be null, which memcpy does not allow
  const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(float);
  parallel_for(std::ssize(rows), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = rows[static_cast<std::size_t>(i)];
      std::memcpy(out + i * out_stride, table + row * table_stride, bytes);
    }
  });
}

void gather_scaled(const ScaledInput& in, float* out) {
  parallel_for(std::ssize(in.rows), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      scale_row(in.table + in.rows[static_cast<std::size_t>(i)] * in.width, in.factor[i], in.weight,
                in.width, out + i * in.width);
    }
  });
}

void gather_scaled_backward(const ScaledInput& in, std::int64_t targets, const float* dout,
                            float* dtable, float* dweight) {
  const RowGroups groups = RowGroups::of(in.rows, targets);
  parallel_groups(groups, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t target = begin; target < end; ++target) {
      float* row = dtable + target * in.width;
      std::fill_n(row, in.width, 0.0F);
      for (std::int32_t i : groups.of_target(target)) {
        add_scaled_row(dout + i * in.width, in.factor[i], in.weight, in.width, row);
      }
    }
  });
  std::vector<float> parts(static_cast<std::size_t>(kRowParts * in.width), 0);
  parallel_parts(std::ssize(in.rows), kRowParts,
                 [&](int part, std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     add_products(in.factor[i], dout + i * in.width,
                                  in.table + in.rows[static_cast<std::size_t>(i)] * in.width,
                                  in.width, parts.data() + part * in.width);
                   }
                 });
  add_parts(parts, in.width, dweight);
}

void add_rows(const float* values, std::span<const std::int64_t> rows, std::int64_t width,
              float* out) {
  parallel_for(std::ssize(rows), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      add_row(values + i * width, width, out + rows[static_cast<std::size_t>(i)] * width);
    }
  });
}

void sum_groups(const float* values, const RowGroups& groups, std::int64_t width, float* out) {
  parallel_groups(groups, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      sum_members(values, groups.of_target(t), width, out + t * width);
    }
  });
}

void add_parts(std::span<const float> parts, std::int64_t width, float* out) {
  std::fill_n(out, width, 0.0F);
  sum_range(parts.data(), kRowParts, width, width, out);
}

void sum_rows(const float* matrix, std::int64_t rows, std::int64_t width, std::int64_t stride,
              float* out) {
  std::vector<float> parts(static_cast<std::size_t>(kRowParts * width), 0);
  parallel_parts(rows, kRowParts, [&](int part, std::int64_t begin, std::int64_t end) {
    sum_range(matrix + begin * stride, end - begin, width, stride, parts.data() + part * width);
  });
  add_parts(parts, width, out);
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
