#include "curnm/nn/kernels/gemm.h"

#include <oneapi/dnnl/dnnl.h>
#include <signal.h>

#include <algorithm>
#include <atomic>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"

namespace curnm::kernels {
namespace {

constexpr double kSmall = 1e6;       // operations that are not worth a second thread
constexpr std::int64_t kBlock = 16;  // rows or columns that stay together

std::atomic<double> flops = 0;

/// While it lives, no signal handler runs on this thread. oneDNN's AVX-512 kernels, before 3.11,
/// keep the address of a buffer in the stack pointer (its issue 4845): a handler would write its
/// frame over the heap.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

/// While it lives, this thread starts no others: the library does so for products from a size on
/// that is its own affair, and nothing would hold their signals.
class NoThreads {
 public:
  NoThreads() { set_num_threads(1); }
  ~NoThreads() { set_num_threads(before_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  int before_ = num_threads();
};

/// The view from row `row` and column `column` on.
MatrixView from(const MatrixView& view, std::int64_t row, std::int64_t column) {
  const std::int64_t offset =
      view.transposed ? column * view.stride + row : row * view.stride + column;
  return {view.data + offset, view.stride, view.transposed};
}

void multiply_here(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
                   const MatrixView& b, const ProductStart& start, float* c,
                   std::int64_t c_stride) {
  constexpr std::int64_t kRows = 256;
  if (start.row != nullptr && m > kRows) {  // part by part, or the row would be written to memory
    for (std::int64_t i = 0; i < m; i += kRows) {
      multiply_here(std::min(kRows, m - i), n, k, from(a, i, 0), b, start, c + i * c_stride,
                    c_stride);
    }
    return;
  }
  if (start.row != nullptr) {
    for (std::int64_t i = 0; i < m; ++i) std::copy_n(start.row, n, c + i * c_stride);
  }
  const bool adds = start.keep || start.row != nullptr;
  if (k == 0) {  // which the library refuses
    for (std::int64_t i = 0; i < m && !adds; ++i) std::fill_n(c + i * c_stride, n, 0.0F);
    return;
  }
  const SignalsHeld quiet;
  const NoThreads alone;
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, /*alpha=*/1, a.data,
                 a.stride, b.data, b.stride, adds ? 1.0F : 0.0F, c, c_stride);
  CURNM_ASSERT(status == dnnl_success);
}

}  // namespace

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
              const MatrixView& b, const ProductStart& start, float* c, std::int64_t c_stride) {
  if (m == 0 || n == 0) return;
  const double work = 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  flops = flops + work;
  // The library's own threads wait for each other within a product. Parts of the result of its
  // longer side need not.
  const bool by_rows = m >= n;
  const std::int64_t size = by_rows ? m : n;
  parallel_chunks(
      (size + kBlock - 1) / kBlock, work < kSmall ? 1 : num_threads(),
      [&](int, std::int64_t first, std::int64_t last) {
        const std::int64_t begin = first * kBlock;
        const std::int64_t count = std::min(last * kBlock, size) - begin;
        if (by_rows) {
          multiply_here(count, n, k, from(a, begin, 0), b, start, c + begin * c_stride, c_stride);
          return;
        }
        const ProductStart part{start.keep, start.row == nullptr ? nullptr : start.row + begin};
        multiply_here(m, count, k, a, from(b, 0, begin), part, c + begin, c_stride);
      });
}

double multiplied_flops() { return flops; }

}  // namespace curnm::kernels
