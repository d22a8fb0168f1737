#include "curnm/kernels/gemm.h"

#include <oneapi/dnnl/dnnl.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"

namespace curnm::kernels {
namespace {

constexpr double kSmall = 1e6;  // below this many operations one thread is used

// At the edges of a product the library sums in another order, and the position of the edges
// depends on the size. So that a row of a result depends neither on other rows nor on the number of
// threads, the library is given
// - rows in whole blocks, a multiple of what any of its kernels takes at a time,
// - no more columns than it keeps together for any number of rows,
// - sums over rows (a is transposed) in parts that follow from their size alone.
constexpr std::int64_t kRows = 24;
constexpr std::int64_t kColumns = 192;
constexpr std::int64_t kSums = 48;

std::atomic<double> flops = 0;

/// During its lifetime, this thread starts no others and no signal handler runs on it. oneDNN's
/// AVX-512 kernels, before 3.11, keep the address of a buffer in the stack pointer (its issue
/// 4845): a signal handler would write its frame over the heap. For large products the library
/// would start its own threads, whose signals would not be blocked.
class SingleThreadScope {
 public:
  SingleThreadScope() {
    set_num_threads(1);
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &signals_);
  }
  ~SingleThreadScope() {
    ::pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
    set_num_threads(threads_);
  }
  SingleThreadScope(const SingleThreadScope&) = delete;
  SingleThreadScope& operator=(const SingleThreadScope&) = delete;

 private:
  int threads_ = num_threads();
  sigset_t signals_;
};

/// The part of a matrix that starts at (`row`, `column`).
MatrixView submatrix(const MatrixView& view, std::int64_t row, std::int64_t column) {
  const std::int64_t offset =
      view.transposed ? column * view.stride + row : row * view.stride + column;
  return {view.data + offset, view.stride, view.transposed};
}

/// Writes the matrix that a product is added to, unless `c` already holds it (start.keep).
void write_start(std::int64_t m, std::int64_t n, const ProductStart& start, float* c,
                 std::int64_t c_stride) {
  if (start.keep) return;
  for (std::int64_t i = 0; i < m; ++i) {
    if (start.row == nullptr) {
      std::fill_n(c + i * c_stride, n, 0.0F);
    } else {
      std::copy_n(start.row, n, c + i * c_stride);
    }
  }
}

/// c = a·b, or c + a·b. REQUIRES: SingleThreadScope, k > 0.
void sgemm(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a, const MatrixView& b,
           bool adds, float* c, std::int64_t c_stride) {
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, /*alpha=*/1, a.data,
                 a.stride, b.data, b.stride, adds ? 1.0F : 0.0F, c, c_stride);
  CURNM_ASSERT(status == dnnl_success);
}

/// The same for fewer rows than a block, as a block padded with zeros.
void sgemm_padded(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
                  const MatrixView& b, bool adds, float* c, std::int64_t c_stride) {
  thread_local std::vector<float> block;
  block.assign(static_cast<std::size_t>(kRows * (k + n)), 0);
  float* rows = block.data();
  float* results = rows + kRows * k;
  for (std::int64_t i = 0; i < m; ++i) {
    std::copy_n(a.data + i * a.stride, k, rows + i * k);
    std::copy_n(c + i * c_stride, adds ? n : 0, results + i * n);
  }
  sgemm(kRows, n, k, {rows, k}, b, adds, results, n);
  for (std::int64_t i = 0; i < m; ++i) std::copy_n(results + i * n, n, c + i * c_stride);
}

/// Rows of a product with up to kColumns columns, on this thread.
void multiply_rows(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
                   const MatrixView& b, const ProductStart& start, float* c,
                   std::int64_t c_stride) {
  const bool adds = start.keep || start.row != nullptr;
  // With start.row, proceed in parts, so that a part stays in the cache between the two writes.
  const std::int64_t part = start.row != nullptr ? 10 * kRows : m;
  for (std::int64_t first = 0; first < m; first += part) {
    const std::int64_t count = std::min(part, m - first);
    const std::int64_t whole = count / kRows * kRows;
    float* to = c + first * c_stride;
    if (start.row != nullptr) write_start(count, n, start, to, c_stride);
    if (whole > 0) sgemm(whole, n, k, submatrix(a, first, 0), b, adds, to, c_stride);
    if (whole == count) continue;
    sgemm_padded(count - whole, n, k, submatrix(a, first + whole, 0), b, adds,
                 to + whole * c_stride, c_stride);
  }
}

}  // namespace

// Split here rather than by the library, whose threads wait for each other within a product.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
              const MatrixView& b, const ProductStart& start, float* c, std::int64_t c_stride) {
  if (m == 0 || n == 0) return;
  if (k == 0) return write_start(m, n, start, c, c_stride);  // the library does not accept k = 0
  const double work = 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  flops.fetch_add(work, std::memory_order_relaxed);
  const bool small = work < kSmall;
  if (a.transposed) {
    CURNM_ASSERT(start.row == nullptr);
    const auto parts = small ? 1 : static_cast<int>((m + kSums - 1) / kSums);
    parallel_parts(m, parts, [&](int, std::int64_t first, std::int64_t last) {
      const SingleThreadScope scope;
      sgemm(last - first, n, k, submatrix(a, first, 0), b, start.keep, c + first * c_stride,
            c_stride);
    });
    return;
  }
  parallel_chunks(
      (m + kRows - 1) / kRows, small ? 1 : num_threads(),
      [&](int, std::int64_t first_block, std::int64_t last_block) {
        const SingleThreadScope scope;
        const std::int64_t first = first_block * kRows;
        const std::int64_t count = std::min(last_block * kRows, m) - first;
        for (std::int64_t j = 0; j < n; j += kColumns) {
          const ProductStart part{start.keep, start.row == nullptr ? nullptr : start.row + j};
          multiply_rows(count, std::min(kColumns, n - j), k, submatrix(a, first, 0),
                        submatrix(b, 0, j), part, c + first * c_stride + j, c_stride);
        }
      });
}

double multiplied_flops() { return flops; }

}  // namespace curnm::kernels
