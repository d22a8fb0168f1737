#include "curnm/data/npy.h"

#include "fuzz/target.h"

// A .npy file gives a matrix of finite values whose size is rows x width.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = workspace().write("x.npy", text_of(data, size));
  const auto matrix = value_or_error([&] { return read_npy(path); });
  if (!matrix) return 0;
  require(matrix->width >= 0, "a negative width");
  require(matrix->values.size() == matrix->rows() * matrix->width, "rows x width");
  require(testing::all_finite(matrix->values), "a value that is not finite");
  return 0;
}

}  // namespace curnm::fuzz
