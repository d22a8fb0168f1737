#include "curnm/kernels/gemm.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <limits>

#include "support/arrays.h"

namespace curnm::kernels {
namespace {

using testing::Arrays;
using testing::ArraySource;
using testing::as_doubles;
using testing::Doubles;
using testing::expect_arrays;

/// A [rows, columns] matrix in memory with a few floats between its rows, or its transpose.
struct Matrix {
  Matrix(std::int64_t rows, std::int64_t columns, bool is_transposed, ArraySource& source)
      : transposed(is_transposed),
        stride((transposed ? rows : columns) + 3),
        values(source.floats((transposed ? columns : rows) * stride)) {}

  MatrixView view() const { return {values.data(), stride, transposed}; }
  double at(std::int64_t i, std::int64_t j) const {
    return values[index(transposed ? j * stride + i : i * stride + j)];
  }

  bool transposed;
  std::int64_t stride;
  std::vector<float> values;
};

enum class Start { kZero, kKeep, kRow };

struct ProductShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

void expect_product(const ProductShape& shape, bool transposed_a, bool transposed_b, Start start,
                    ArraySource& source) {
  const std::int64_t m = shape.m;
  const std::int64_t n = shape.n;
  const std::int64_t k = shape.k;
  const std::int64_t stride = n + 2;
  const Matrix a(m, k, transposed_a, source);
  const Matrix b(k, n, transposed_b, source);
  const std::vector<float> row = source.floats(n);
  // What is to be overwritten may be anything.
  const std::vector<float> before =
      start == Start::kKeep
          ? source.floats(m * stride)
          : std::vector<float>(index(m * stride), std::numeric_limits<float>::quiet_NaN());
  Doubles expected = as_doubles(before);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double& sum = expected[index(i * stride + j)];
      if (start != Start::kKeep) sum = start == Start::kRow ? row[index(j)] : 0;
      for (std::int64_t l = 0; l < k; ++l) sum += a.at(i, l) * b.at(l, j);
    }
  }
  const auto compute = [&]() -> Arrays {
    std::vector<float> c = before;
    multiply(m, n, k, a.view(), b.view(),
             {.keep = start == Start::kKeep, .row = start == Start::kRow ? row.data() : nullptr},
             c.data(), stride);
    return {as_doubles(c)};
  };
  expect_arrays(compute, {expected});
}

TEST(GemmTest, ProductsOfAllKinds) {
  for (const auto values : {ArraySource::Values::kOrdinary, ArraySource::Values::kNotFinite}) {
    for (const ProductShape& shape : {ProductShape{0, 3, 4},
                                      {3, 0, 4},
                                      {3, 4, 0},
                                      {300, 7, 0},
                                      {1, 1, 1},
                                      {1, 37, 5},
                                      {23, 3, 17},
                                      {24, 8, 16},
                                      {25, 19, 33},
                                      {100, 193, 40},
                                      {301, 50, 50}}) {
      for (const bool transposed_a : {false, true}) {
        for (const bool transposed_b : {false, true}) {
          for (const Start start : {Start::kZero, Start::kKeep, Start::kRow}) {
            if (transposed_a && start == Start::kRow) continue;  // not offered
            SCOPED_TRACE(::testing::Message()
                         << shape.m << " x " << shape.k << " x " << shape.n << ", transposed "
                         << transposed_a << transposed_b << ", start " << static_cast<int>(start));
            ArraySource source(7, values);
            expect_product(shape, transposed_a, transposed_b, start, source);
          }
        }
      }
    }
  }
}

TEST(GemmTest, EmptyMatricesNeedNoMemory) {
  std::vector<float> c(300, -7);
  multiply(300, 1, 0, {nullptr, 1, false}, {nullptr, 1, false}, {}, c.data(), 1);
  EXPECT_EQ(c, std::vector<float>(300, 0));
  multiply(0, 5, 5, {nullptr, 5, false}, {nullptr, 5, false}, {}, nullptr, 5);
}

TEST(GemmTest, CountsItsOperations) {
  const std::vector<float> a(6, 1);
  std::vector<float> c(4);
  const double before = multiplied_flops();
  multiply(2, 2, 3, {a.data(), 3, false}, {a.data(), 2, false}, {}, c.data(), 2);
  EXPECT_EQ(multiplied_flops() - before, 2 * 2 * 2 * 3);
}

/// a·b, or a·b with a row added, dense.
std::vector<float> product(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
                           const MatrixView& b, const float* row = nullptr) {
  std::vector<float> c(index(m * n));
  multiply(m, n, k, a, b, {.row = row}, c.data(), n);
  return c;
}

// What a model may not see must not change a bit of what it says, so a row may not depend on its
// company; and a training must not depend on the machine's cores.
TEST(GemmTest, RowsDependOnThemselvesAlone) {
  constexpr std::int64_t kRows = 300;
  for (const std::int64_t k : {3, 32, 100, 172, 444}) {
    for (const std::int64_t n : {1, 13, 86, 172, 516}) {
      ArraySource source(1);
      const std::vector<float> a = source.floats(kRows * k);
      const std::vector<float> b = source.floats(k * n);
      const std::vector<float> bias = source.floats(n);
      for (const bool transposed_b : {false, true}) {
        const MatrixView of_b{b.data(), transposed_b ? k : n, transposed_b};
        const float* row = transposed_b ? bias.data() : nullptr;
        const testing::ScopedThreads scope(1);
        const std::vector<float> expected = product(kRows, n, k, {a.data(), k, false}, of_b, row);
        for (const std::int64_t rows : {1, 2, 3, 7, 24, 25, 26, 27, 50, 171, 299}) {
          const testing::ScopedThreads threads(rows % 2 == 0 ? 1 : 3);
          const std::int64_t first = kRows - rows;
          const std::vector<float> part =
              product(rows, n, k, {a.data() + first * k, k, false}, of_b, row);
          EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + first * n))
              << rows << " rows, " << k << " x " << n;
        }
      }
    }
  }
}

TEST(GemmTest, SumsOverRowsDoNotDependOnThreads) {
  constexpr std::int64_t kRows = 1500;
  ArraySource source(1);
  const std::vector<float> a = source.floats(kRows * 172);
  const std::vector<float> b = source.floats(kRows * 100);
  const auto run = [&](int threads) {
    const testing::ScopedThreads scope(threads);
    return product(172, 100, kRows, {a.data(), 172, true}, {b.data(), 100, false});
  };
  const std::vector<float> expected = run(1);
  for (const int threads : {2, 3, 7}) EXPECT_EQ(run(threads), expected) << threads;
}

// Signals may come at any time: Ctrl-C, profilers, the runtime of a host program.
TEST(GemmTest, SurvivesSignals) {
  static std::atomic<int> signals = 0;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++signals; };
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGPROF, &action, &before), 0);
  itimerval every{.it_interval = {0, 1000}, .it_value = {0, 1000}};
  ASSERT_EQ(::setitimer(ITIMER_PROF, &every, nullptr), 0);
  ArraySource source(1);
  const std::vector<float> a = source.floats(1500 * 172);
  const std::vector<float> b = source.floats(172 * 172);
  const auto run = [&] {
    return product(1500, 172, 172, {a.data(), 172, false}, {b.data(), 172, false});
  };
  const std::vector<float> first = run();
  bool same = true;
  for (int i = 0; i < 20000 && (signals < 50 || i < 100); ++i) same = same && run() == first;
  every = {};
  ::setitimer(ITIMER_PROF, &every, nullptr);
  ::sigaction(SIGPROF, &before, nullptr);
  EXPECT_GE(signals, 50);
  EXPECT_TRUE(same);
}

}  // namespace
}  // namespace curnm::kernels
