#include "curnm/data/reader.h"
#include "fuzz/target.h"

// Tables of JODIE: by name, and as whatever they are recognised.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace curnm::fuzz;
  const auto path = workspace().write("wikipedia.csv", text_of(data, size));
  for (const char* format : {"jodie", "auto"}) {
    check_reading([&] { return curnm::read_network(path, format); });
  }
  return 0;
}
