#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// The bytes of checkpoints and models, without LibTorch: a length in eight bytes, a JSON header of
// that length (a document, and the name, type and shape of each tensor), then the raw tensors.

namespace curnm {

/// Types of values by their names in files, and bytes per value.
struct StoredType {
  std::string_view name;
  std::size_t bytes;
};
inline constexpr std::array<StoredType, 5> kStoredTypes = {
    {{"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"u8", 1}}};

struct StoredTensor {
  std::string name;
  std::string_view type;  // one of kStoredTypes
  std::vector<std::int64_t> shape;
  std::string_view values;  // exactly as many bytes as type and shape say
};

struct StoredTensors {
  nlohmann::ordered_json document;    // an object
  std::vector<StoredTensor> tensors;  // with different names
};

/// REQUIRES: `bytes` outlives the result, whose tensors refer to it. Throws UnusableRun with the
/// reason for bytes that contradict themselves: the digest around them does not show who wrote
/// them.
StoredTensors parse_tensors(std::string_view bytes);

/// The opposite, for tensors whose values are where the caller keeps them.
std::string tensor_bytes(const StoredTensors& contents);

}  // namespace curnm
