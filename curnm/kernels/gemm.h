#pragma once

#include <cstdint>

namespace curnm::kernels {

/// A row-major matrix with rows `stride` floats apart, or its transpose.
struct MatrixView {
  const float* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

/// What a product is added to: 0 by default.
struct ProductStart {
  bool keep = false;           // add to what `c` holds
  const float* row = nullptr;  // add this row [n] to every row
};

/// c[m,n] = start + a[m,k]·b[k,n]. The same bits for any number of threads; unless `a` is
/// transposed, a row of the result depends on the same row of `a` alone, wherever it stands.
/// REQUIRES: no start.row where `a` is transposed, and not both of `start`; strides are at least
/// the length of the rows in memory.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
              const MatrixView& b, const ProductStart& start, float* c, std::int64_t c_stride);

/// Floating-point operations of all products so far.
double multiplied_flops();

}  // namespace curnm::kernels
