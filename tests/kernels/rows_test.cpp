#include "curnm/kernels/rows.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/arrays.h"

namespace curnm::kernels {
namespace {

using testing::Arrays;
using testing::ArraySource;
using testing::as_doubles;
using testing::Doubles;
using testing::expect_arrays;

constexpr std::int64_t kTargets = 23;  // rows of tables

TEST(RowsTest, GroupsListMembersInOrder) {
  const std::vector<std::int64_t> targets = {2, 0, 2, 2, 3};
  const RowGroups groups = RowGroups::of(targets, 5);
  const auto members = [&](std::int64_t target) {
    const auto span = groups.of_target(target);
    return std::vector<std::int32_t>(span.begin(), span.end());
  };
  EXPECT_EQ(members(0), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(members(1), (std::vector<std::int32_t>{}));
  EXPECT_EQ(members(2), (std::vector<std::int32_t>{0, 2, 3}));
  EXPECT_EQ(members(3), (std::vector<std::int32_t>{4}));
  EXPECT_EQ(members(4), (std::vector<std::int32_t>{}));
  EXPECT_EQ(RowGroups::of({}, 0).size(), 0);
}

TEST(RowsTest, ParallelGroupsVisitsEveryTargetOnce) {
  const testing::ScopedThreads scope(3);
  std::vector<std::int64_t> targets(500, 4);  // one target has nearly all members
  targets.resize(510, 0);
  for (const std::int64_t count : {5, 6, 400}) {
    std::vector<int> visits(index(count), 0);
    parallel_groups(RowGroups::of(targets, count), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++visits[index(i)];
    });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
  }
}

TEST(RowsTest, GatherTakesRowsAndLeavesGapsAlone) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::int64_t table_stride = width + 2;
    const std::int64_t out_stride = width + 3;
    const std::vector<float> table = source.floats(kTargets * table_stride);
    const std::vector<std::int64_t> which = source.rows(rows, kTargets);
    Doubles expected(index(rows * out_stride), -7);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        expected[index(i * out_stride + d)] = table[index(which[index(i)] * table_stride + d)];
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> out(expected.size(), -7);
      gather(table.data(), table_stride, which, width, out.data(), out_stride);
      return {as_doubles(out)};
    };
    expect_arrays(compute, {expected}, /*tolerance=*/0);
  });
}

TEST(RowsTest, WidthZeroNeedsNoMemory) {
  const std::vector<std::int64_t> which(100, 0);
  gather(nullptr, which, 0, nullptr);
  add_rows(nullptr, {}, 0, nullptr);
  sum_groups(nullptr, RowGroups::of(which, 3), 0, nullptr);
  sum_rows(nullptr, 100, 0, 0, nullptr);
  EXPECT_TRUE(rows_with_values(nullptr, 100, 0).empty());
}

TEST(RowsTest, GatherScaled) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::vector<float> table = source.floats(kTargets * width);
    const std::vector<float> factor = source.floats(rows);
    const std::vector<float> weight = source.floats(width);
    const std::vector<float> dout = source.floats(rows * width);
    const std::vector<std::int64_t> which = source.rows(rows, kTargets);
    const ScaledInput input{.width = width,
                            .rows = which,
                            .table = table.data(),
                            .factor = factor.data(),
                            .weight = weight.data()};
    Doubles out(index(rows * width));
    Doubles dtable(table.size(), 0);
    Doubles dweight(weight.size(), 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        const std::size_t at = index(i * width + d);
        const std::size_t from = index(which[index(i)] * width + d);
        const double scale = 1 + static_cast<double>(factor[index(i)]) * weight[index(d)];
        out[at] = table[from] * scale;
        dtable[from] += dout[at] * scale;
        dweight[index(d)] += static_cast<double>(factor[index(i)]) * dout[at] * table[from];
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> result(out.size());
      std::vector<float> to_table(table.size(), -7);
      std::vector<float> to_weight(weight.size(), -7);
      gather_scaled(input, result.data());
      gather_scaled_backward(input, kTargets, dout.data(), to_table.data(), to_weight.data());
      return {as_doubles(result), as_doubles(to_table), as_doubles(to_weight)};
    };
    expect_arrays(compute, {out, dtable, dweight});
  });
}

TEST(RowsTest, AddRows) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::vector<float> values = source.floats(rows * width);
    const std::vector<float> before = source.floats((rows + 3) * width);
    std::vector<std::int64_t> to = source.permutation(rows + 3);
    to.resize(index(rows));
    Doubles expected = as_doubles(before);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        expected[index(to[index(i)] * width + d)] += values[index(i * width + d)];
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> out = before;
      add_rows(values.data(), to, width, out.data());
      return {as_doubles(out)};
    };
    expect_arrays(compute, {expected});
  });
}

TEST(RowsTest, SumGroups) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::vector<float> values = source.floats(rows * width);
    const std::vector<std::int64_t> targets = source.rows(rows, kTargets);
    Doubles expected(index(kTargets * width), 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) {
        expected[index(targets[index(i)] * width + d)] += values[index(i * width + d)];
      }
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> out(expected.size(), -7);
      sum_groups(values.data(), RowGroups::of(targets, kTargets), width, out.data());
      return {as_doubles(out)};
    };
    expect_arrays(compute, {expected});
  });
}

TEST(RowsTest, SumRows) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    const std::int64_t stride = width + 3;
    const std::vector<float> matrix = source.floats(rows * stride);
    Doubles expected(index(width), 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t d = 0; d < width; ++d) expected[index(d)] += matrix[index(i * stride + d)];
    }
    const auto compute = [&]() -> Arrays {
      std::vector<float> out(expected.size(), -7);
      sum_rows(matrix.data(), rows, width, stride, out.data());
      return {as_doubles(out)};
    };
    expect_arrays(compute, {expected});
  });
}

TEST(RowsTest, RowsWithValues) {
  testing::for_each_shape([](std::int64_t rows, std::int64_t width, ArraySource& source) {
    std::vector<float> matrix(index(rows * width), 0);
    std::vector<std::int64_t> expected;
    const std::vector<float> values = source.floats(rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t column = i * 5 % (2 * width);  // every other row stays empty
      if (column >= width) continue;
      matrix[index(i * width + column)] = values[index(i)];
      expected.push_back(i);
    }
    for (const int threads : {1, 2}) {
      const testing::ScopedThreads scope(threads);
      EXPECT_EQ(rows_with_values(matrix.data(), rows, width), expected);
    }
  });
}

TEST(RowsTest, TheSmallestNumberAndNaNAreValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> matrix = {0, -0.0F, 0, -1, tiny, 0, nan, 0, 1, -1};
  EXPECT_EQ(rows_with_values(matrix.data(), 5, 2), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace curnm::kernels
