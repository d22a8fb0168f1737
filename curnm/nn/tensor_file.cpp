#include "curnm/nn/tensor_file.h"

#include <array>
#include <cstring>

#include "curnm/base/digest.h"
#include "curnm/base/error.h"
#include "curnm/base/files.h"

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

}  // namespace

void TensorFile::put(const std::string& name, const std::vector<Tensor>& list) {
  document["lists"][name] = list.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    tensors[fmt::format("{}/{}", name, i)] = list[i];
  }
}

std::vector<Tensor> TensorFile::list(const std::string& name) const {
  std::vector<Tensor> found;
  const auto size = document.at("lists").at(name).get<std::size_t>();
  for (std::size_t i = 0; i < size; ++i) found.push_back(tensors.at(fmt::format("{}/{}", name, i)));
  return found;
}

void TensorFile::put(const std::string& name, const Module& module) {
  for (const auto& item : module.named_weights()) {
    tensors[name + "/" + item.key()] = item.value().detach().clone();
  }
}

void TensorFile::restore(const std::string& name, const Module& module) const {
  const NoGradGuard no_grad;
  for (const auto& item : module.named_weights()) {
    const auto found = tensors.find(name + "/" + item.key());
    if (found == tensors.end() || found->second.sizes() != item.value().sizes()) {
      fail<UnusableRun>(
          "the checkpoint does not fit the model: {}/{} is missing or has another shape", name,
          item.key());
    }
    item.value().copy_(found->second);
  }
}

void save_tensors(const TensorFile& contents, const TensorFileKind& kind, const fs::path& file) {
  ordered_json header = {{"document", contents.document}, {"tensors", ordered_json::array()}};
  for (const auto& [name, tensor] : contents.tensors) {
    header["tensors"].push_back(
        {{"name", name}, {"type", name_of(tensor.scalar_type())}, {"shape", tensor.sizes().vec()}});
  }
  const std::string text = header.dump();
  std::string bytes = magic_of(kind);
  const std::uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
  for (const auto& [name, tensor] : contents.tensors) {
    const Tensor flat = tensor.to(at::kCPU).contiguous();
    bytes.append(static_cast<const char*>(flat.data_ptr()), flat.nbytes());
  }
  bytes += digest(bytes);
  write_file_atomically(file, bytes);
}

bool is_tensor_file(const TensorFileKind& kind, const fs::path& file) {
  return fs::is_regular_file(file) && MappedFile::open(file)->text().starts_with(prefix_of(kind));
}

TensorFile load_tensors(const TensorFileKind& kind, const fs::path& file) {
  const auto mapped = MappedFile::open(file);
  std::string_view bytes = mapped->text();
  const auto damaged = [&](std::string_view why) {
    fail<UnusableRun>("{} is damaged: {}; {}", file.string(), why, kind.remedy);
  };
  const std::string magic = magic_of(kind);
  if (!bytes.starts_with(prefix_of(kind))) {
    fail<UnusableRun>("{} is not a curnm {}", file.string(), kind.name);
  }
  if (!bytes.starts_with(magic)) {
    fail<UnusableRun>("{} was written by another version of curnm ({} instead of {})",
                      file.string(), bytes.substr(0, std::min(bytes.find('\n'), std::size_t{40})),
                      std::string_view(magic).substr(0, magic.size() - 1));
  }
  if (bytes.size() < magic.size() + sizeof(std::uint64_t) + kDigestSize) damaged("it is truncated");
  const std::string_view expected = bytes.substr(bytes.size() - kDigestSize);
  bytes.remove_suffix(kDigestSize);
  if (digest(bytes) != expected) damaged("its digest differs");

  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data() + magic.size(), sizeof length);
  bytes.remove_prefix(magic.size() + sizeof length);
  const ordered_json header = ordered_json::parse(bytes.substr(0, length));
  bytes.remove_prefix(length);
  TensorFile contents{.document = header.at("document")};
  for (const ordered_json& entry : header.at("tensors")) {
    const auto type = entry.at("type").get<std::string>();
    const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                    [&](const TypeName& t) { return t.name == type; });
    if (known == kTypes.end()) damaged("a tensor has an unknown type");
    Tensor tensor = at::empty(entry.at("shape").get<std::vector<std::int64_t>>(), known->type);
    if (bytes.size() < tensor.nbytes()) damaged("it is truncated");
    std::memcpy(tensor.data_ptr(), bytes.data(), tensor.nbytes());
    bytes.remove_prefix(tensor.nbytes());
    contents.tensors[entry.at("name").get<std::string>()] = tensor;
  }
  return contents;
}

}  // namespace curnm
