#include "curnm/data/reader.h"
#include "fuzz/target.h"

// Folders of TGL, in three parts: edges.csv, edge_features.npy, node_features.npy.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = parts_of(text_of(data, size), 3);
  workspace().write("net/edges.csv", parts[0]);
  write_part("net/edge_features.npy", feature_bytes(parts[1]));
  write_part("net/node_features.npy", feature_bytes(parts[2]));
  check_reading([] { return read_network(workspace() / "net"); });
  return 0;
}

}  // namespace curnm::fuzz
