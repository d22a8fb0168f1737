#include "curnm/base/stored_tensors.h"
#include "fuzz/target.h"

// What checkpoints and models consist of, behind their digest, which anybody can compute. The input
// is the header and, after a line of '=', the values; or with a first byte 0, all bytes as they are
// in the file.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(text_of(data, size));
  if (bytes.starts_with('\0')) {
    bytes.erase(0, 1);
  } else {
    const auto parts = parts_of(text_of(data, size), 2);
    const std::uint64_t length = parts[0].size();
    bytes.assign(reinterpret_cast<const char*>(&length), sizeof length);
    bytes.append(parts[0]).append(parts[1]);
  }
  const auto found = value_or_error([&] { return parse_tensors(bytes); });
  if (!found) return 0;
  for (const StoredTensor& tensor : found->tensors) {
    std::size_t count = 1;
    for (const std::int64_t extent : tensor.shape) {
      require(extent >= 0, "a negative extent");
      count *= static_cast<std::size_t>(extent);
    }
    const auto type = std::find_if(kStoredTypes.begin(), kStoredTypes.end(),
                                   [&](const StoredType& t) { return t.name == tensor.type; });
    require(type != kStoredTypes.end(), "an unknown type");
    require(tensor.values.size() == count * type->bytes, "values that do not fit the shape");
  }
  const std::string again = tensor_bytes(*found);
  require(parse_tensors(again).tensors.size() == found->tensors.size(), "what is written differs");
  return 0;
}

}  // namespace curnm::fuzz
