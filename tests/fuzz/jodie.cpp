#include "curnm/data/reader.h"
#include "fuzz/target.h"

// Tables of JODIE: by name, and as whatever they are recognised.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = workspace().write("wikipedia.csv", text_of(data, size));
  for (const char* format : {"jodie", "auto"}) {
    check_reading([&] { return read_network(path, format); });
  }
  return 0;
}

}  // namespace curnm::fuzz
