#include "curnm/nn/tensor_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "curnm/base/digest.h"
#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/base/json.h"
#include "curnm/base/stored_tensors.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kDigestSize = 32;

struct TypeName {
  std::string_view name;
  at::ScalarType type;
};
constexpr std::array<TypeName, 5> kTypes = {{{"f32", at::kFloat},
                                             {"f64", at::kDouble},
                                             {"i32", at::kInt},
                                             {"i64", at::kLong},
                                             {"u8", at::kByte}}};

std::string_view name_of(at::ScalarType type) {
  for (const TypeName& entry : kTypes) {
    if (entry.type == type) return entry.name;
  }
  CURNM_ASSERT(false && "a tensor of this type cannot be stored");
  return {};
}

std::string prefix_of(const TensorFileKind& kind) { return fmt::format("curnm {} ", kind.name); }
std::string magic_of(const TensorFileKind& kind) {
  return fmt::format("{}{}\n", prefix_of(kind), kind.version);
}

Tensor tensor_of(const StoredTensor& stored) {
  const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const TypeName& type) { return type.name == stored.type; });
  CURNM_ASSERT(known != kTypes.end());
  Tensor tensor = at::empty(stored.shape, known->type);
  if (!stored.values.empty()) {
    std::memcpy(tensor.data_ptr(), stored.values.data(), stored.values.size());
  }
  return tensor;
}

}  // namespace

void TensorFile::put(const std::string& name, const std::vector<Tensor>& list) {
  document["lists"][name] = list.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    tensors[fmt::format("{}/{}", name, i)] = list[i];
  }
}

std::vector<Tensor> TensorFile::list(const std::string& name) const {
  std::vector<Tensor> found;
  const auto lists = document.find("lists");
  check_saved(lists != document.end() && lists->is_object(), "a list of tensors is missing");
  const std::int64_t size = json_integer(*lists, name, 0, std::ssize(tensors));
  for (std::int64_t i = 0; i < size; ++i) {
    const auto tensor = tensors.find(fmt::format("{}/{}", name, i));
    check_saved(tensor != tensors.end(), "a tensor is missing");
    found.push_back(tensor->second);
  }
  return found;
}

void TensorFile::put(const std::string& name, const Module& module) {
  for (const auto& item : module.named_weights()) {
    tensors[name + "/" + item.key()] = item.value().detach().clone();
  }
}

void TensorFile::check(const std::string& name, const Module& module) const {
  for (const auto& item : module.named_weights()) {
    const auto found = tensors.find(name + "/" + item.key());
    if (found == tensors.end() || found->second.sizes() != item.value().sizes()) {
      fail<UnusableRun>(
          "the saved weights do not fit the model: {}/{} is missing or has another shape", name,
          item.key());
    }
  }
}

void TensorFile::restore(const std::string& name, const Module& module) const {
  check(name, module);
  const NoGradGuard no_grad;
  for (const auto& item : module.named_weights()) {
    item.value().copy_(tensors.at(name + "/" + item.key()));
  }
}

std::string packed(const TensorFile& contents) {
  StoredTensors stored{.document = contents.document, .tensors = {}};
  std::vector<Tensor> flat;  // keeps the values
  for (const auto& [name, tensor] : contents.tensors) {
    flat.push_back(tensor.to(at::kCPU).contiguous());
    stored.tensors.push_back(
        {.name = name,
         .type = name_of(tensor.scalar_type()),
         .shape = tensor.sizes().vec(),
         .values = {static_cast<const char*>(flat.back().data_ptr()), flat.back().nbytes()}});
  }
  return tensor_bytes(stored);
}

TensorFile unpacked(std::string_view bytes) {
  StoredTensors stored = parse_tensors(bytes);
  TensorFile found{.document = std::move(stored.document)};
  for (const StoredTensor& tensor : stored.tensors) {
    found.tensors.emplace(tensor.name, tensor_of(tensor));
  }
  return found;
}

void save_tensors(const TensorFile& contents, const TensorFileKind& kind, const fs::path& file) {
  std::string bytes = magic_of(kind) + packed(contents);
  bytes += digest(bytes);
  write_file_atomically(file, bytes);
}

bool is_tensor_file(const TensorFileKind& kind, const fs::path& file) {
  const std::string prefix = prefix_of(kind);
  return fs::is_regular_file(file) && read_beginning(file, prefix.size()) == prefix;
}

TensorFile load_tensors(const TensorFileKind& kind, const fs::path& file) {
  const std::string contents = read_file(file);
  const auto damaged = [&](std::string_view why) {
    return UnusableRun(fmt::format("{} is damaged: {}; {}", file.string(), why, kind.remedy));
  };
  std::string_view bytes = contents;
  const std::string magic = magic_of(kind);
  if (!bytes.starts_with(prefix_of(kind))) {
    fail<UnusableRun>("{} is not a curnm {}", file.string(), kind.name);
  }
  if (!bytes.starts_with(magic)) {
    fail<UnusableRun>("{} was written by another version of curnm ({} instead of {})",
                      file.string(), bytes.substr(0, std::min(bytes.find('\n'), std::size_t{40})),
                      std::string_view(magic).substr(0, magic.size() - 1));
  }
  if (bytes.size() < magic.size() + sizeof(std::uint64_t) + kDigestSize) {
    throw damaged("it is truncated");
  }
  const std::string_view expected = bytes.substr(bytes.size() - kDigestSize);
  bytes.remove_suffix(kDigestSize);
  if (digest(bytes) != expected) throw damaged("its digest differs");

  bytes.remove_prefix(magic.size());
  try {
    return unpacked(bytes);
  } catch (const UnusableRun& error) {
    throw damaged(error.what());
  }
}

}  // namespace curnm
