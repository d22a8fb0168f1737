#include "curnm/data/npy.h"

#include "fuzz/target.h"

// A .npy file gives a matrix of finite values whose size is rows x width.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace curnm::fuzz;
  const auto path = workspace().write("x.npy", text_of(data, size));
  const auto matrix = value_or_error([&] { return curnm::read_npy(path); });
  if (!matrix) return 0;
  require(matrix->width >= 0, "a negative width");
  require(matrix->values.size() == matrix->rows() * matrix->width, "rows x width");
  require(curnm::testing::all_finite(matrix->values), "a value that is not finite");
  return 0;
}
