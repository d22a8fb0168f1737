#include "curnm/base/stored_tensors.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "curnm/base/error.h"
#include "curnm/base/json.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

/// The shape of a tensor whose values are among the next `available` bytes. A dimension of 0 makes
/// the tensor empty, and the others still have to be possible.
std::vector<std::int64_t> read_shape(const ordered_json& json, std::size_t item,
                                     std::size_t available) {
  constexpr std::size_t kMostDimensions = 8;
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 40;  // of an empty one
  check_saved(json.is_array() && json.size() <= kMostDimensions, "a tensor has no shape");
  const bool empty = std::ranges::find(json, ordered_json(0U)) != json.end();
  std::uint64_t most = empty ? kMostRows : available / item;  // so many values can still be there
  std::vector<std::int64_t> shape;
  for (const ordered_json& extent : json) {
    check_saved(extent.is_number_unsigned(), "the shape of a tensor is no list of counts");
    const auto count = extent.get<std::uint64_t>();
    check_saved(count <= most, "a tensor is larger than the file");
    shape.push_back(static_cast<std::int64_t>(count));
    if (count > 0) most /= count;
  }
  return shape;
}

StoredTensor read_tensor(const ordered_json& entry, std::string_view& bytes) {
  const std::string type = json_string(entry, "type");
  const auto known = std::ranges::find(kStoredTypes, type, &StoredType::name);
  check_saved(known != kStoredTypes.end(), "a tensor has an unknown type");
  StoredTensor tensor{.name = json_string(entry, "name"),
                      .type = known->name,
                      .shape = read_shape(entry.at("shape"), known->bytes, bytes.size()),
                      .values = {}};
  std::size_t size = known->bytes;
  for (const std::int64_t extent : tensor.shape) size *= static_cast<std::size_t>(extent);
  check_saved(size <= bytes.size(), "a tensor is larger than the file");
  tensor.values = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return tensor;
}

StoredTensors parse(std::string_view bytes) {
  std::uint64_t length = 0;
  check_saved(bytes.size() >= sizeof length, "it is truncated");
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  check_saved(length <= bytes.size(), "its header is longer than the file");
  const ordered_json header = parse_json(bytes.substr(0, length));
  bytes.remove_prefix(length);
  StoredTensors contents{.document = header.at("document"), .tensors = {}};
  check_saved(contents.document.is_object(), "its document is no object");
  const ordered_json& entries = header.at("tensors");
  check_saved(entries.is_array(), "its list of tensors is none");
  std::set<std::string> names;
  for (const ordered_json& entry : entries) {
    contents.tensors.push_back(read_tensor(entry, bytes));
    check_saved(names.insert(contents.tensors.back().name).second, "a tensor is there twice");
  }
  check_saved(bytes.empty(), "it has bytes that belong to no tensor");
  return contents;
}

}  // namespace

StoredTensors parse_tensors(std::string_view bytes) {
  try {
    return parse(bytes);
  } catch (const BadJson& error) {
    throw UnusableRun(error.what());
  } catch (const nlohmann::json::exception& error) {
    throw UnusableRun(json_reason(error));
  }
}

std::string tensor_bytes(const StoredTensors& contents) {
  ordered_json header = {{"document", contents.document}, {"tensors", ordered_json::array()}};
  for (const StoredTensor& tensor : contents.tensors) {
    header["tensors"].push_back(
        {{"name", tensor.name}, {"type", tensor.type}, {"shape", tensor.shape}});
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
  for (const StoredTensor& tensor : contents.tensors) bytes += tensor.values;
  return bytes;
}

}  // namespace curnm
