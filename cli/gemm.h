#pragma once

#include <cstdint>

namespace curnm::cli {

/// The rate of single-precision matrix products on this machine, in 1e9 operations per second: the
/// best of a few.
double gemm_gflops();

/// Counts the operations of all matrix products while it lives, LibTorch's and our own.
class FlopCounter {
 public:
  FlopCounter();
  ~FlopCounter();
  FlopCounter(const FlopCounter&) = delete;
  FlopCounter& operator=(const FlopCounter&) = delete;

  double flops() const;

 private:
  std::uint64_t handle_;
  double before_ = 0;
};

}  // namespace curnm::cli
