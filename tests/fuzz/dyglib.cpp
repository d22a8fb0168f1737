#include "curnm/data/reader.h"
#include "fuzz/target.h"

// DyGLib's trios, in three parts: ml_x.csv, ml_x.npy, ml_x_node.npy.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = parts_of(text_of(data, size), 3);
  workspace().write("net/ml_x.csv", parts[0]);
  write_part("net/ml_x.npy", feature_bytes(parts[1]));
  write_part("net/ml_x_node.npy", feature_bytes(parts[2]));
  check_reading([] { return read_network(workspace() / "net"); });
  return 0;
}

}  // namespace curnm::fuzz
