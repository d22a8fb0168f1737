#include "curnm/training/checkpoint.h"

#include <array>
#include <cstring>

#include "curnm/base/digest.h"
#include "curnm/base/error.h"
#include "curnm/base/files.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view kMagic = "curnm checkpoint 1\n";
constexpr std::size_t kDigestSize = 32;

struct TypeName {
  std::string_view name;
  torch::ScalarType type;
};
constexpr std::array<TypeName, 5> kTypes = {{{"f32", torch::kFloat32},
                                             {"f64", torch::kFloat64},
                                             {"i32", torch::kInt32},
                                             {"i64", torch::kInt64},
                                             {"u8", torch::kUInt8}}};

std::string_view name_of(torch::ScalarType type) {
  for (const TypeName& entry : kTypes) {
    if (entry.type == type) return entry.name;
  }
  CURNM_ASSERT(false && "a tensor of this type cannot be stored");
  return {};
}

}  // namespace

void Checkpoint::put(const std::string& name, const std::vector<torch::Tensor>& list) {
  document["lists"][name] = list.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    tensors[fmt::format("{}/{}", name, i)] = list[i];
  }
}

std::vector<torch::Tensor> Checkpoint::list(const std::string& name) const {
  std::vector<torch::Tensor> found;
  const auto size = document.at("lists").at(name).get<std::size_t>();
  for (std::size_t i = 0; i < size; ++i) found.push_back(tensors.at(fmt::format("{}/{}", name, i)));
  return found;
}

void Checkpoint::put(const std::string& name, const torch::nn::Module& module) {
  for (const auto& item : module.named_parameters()) {
    tensors[name + "/" + item.key()] = item.value().detach().clone();
  }
}

void Checkpoint::restore(const std::string& name, torch::nn::Module& module) const {
  const torch::NoGradGuard no_grad;
  for (auto& item : module.named_parameters()) {
    const auto found = tensors.find(name + "/" + item.key());
    if (found == tensors.end() || found->second.sizes() != item.value().sizes()) {
      fail<UnusableRun>(
          "the checkpoint does not fit the model: {}/{} is missing or has another shape", name,
          item.key());
    }
    item.value().copy_(found->second);
  }
}

void save_checkpoint(const Checkpoint& checkpoint, const fs::path& file) {
  ordered_json header = {{"document", checkpoint.document}, {"tensors", ordered_json::array()}};
  for (const auto& [name, tensor] : checkpoint.tensors) {
    header["tensors"].push_back(
        {{"name", name}, {"type", name_of(tensor.scalar_type())}, {"shape", tensor.sizes().vec()}});
  }
  const std::string text = header.dump();
  std::string bytes(kMagic);
  const std::uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const torch::Tensor flat = tensor.to(torch::kCPU).contiguous();
    bytes.append(static_cast<const char*>(flat.data_ptr()), flat.nbytes());
  }
  bytes += digest(bytes);
  write_file_atomically(file, bytes);
}

Checkpoint load_checkpoint(const fs::path& file) {
  const auto mapped = MappedFile::open(file);
  std::string_view bytes = mapped->text();
  const auto damaged = [&](std::string_view why) {
    fail<UnusableRun>("{} is damaged: {}; its run can only be trained again", file.string(), why);
  };
  if (!bytes.starts_with(kMagic.substr(0, kMagic.find('1')))) {
    fail<UnusableRun>("{} is not a curnm checkpoint", file.string());
  }
  if (!bytes.starts_with(kMagic))
    fail<UnusableRun>("{} was written by another version of curnm", file.string());
  if (bytes.size() < kMagic.size() + sizeof(std::uint64_t) + kDigestSize)
    damaged("it is truncated");
  const std::string_view expected = bytes.substr(bytes.size() - kDigestSize);
  bytes.remove_suffix(kDigestSize);
  if (digest(bytes) != expected) damaged("its digest differs");

  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data() + kMagic.size(), sizeof length);
  bytes.remove_prefix(kMagic.size() + sizeof length);
  const ordered_json header = ordered_json::parse(bytes.substr(0, length));
  bytes.remove_prefix(length);
  Checkpoint checkpoint{.document = header.at("document")};
  for (const ordered_json& entry : header.at("tensors")) {
    const auto type = entry.at("type").get<std::string>();
    const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                    [&](const TypeName& t) { return t.name == type; });
    if (known == kTypes.end()) damaged("a tensor has an unknown type");
    torch::Tensor tensor =
        torch::empty(entry.at("shape").get<std::vector<std::int64_t>>(), known->type);
    if (bytes.size() < tensor.nbytes()) damaged("it is truncated");
    std::memcpy(tensor.data_ptr(), bytes.data(), tensor.nbytes());
    bytes.remove_prefix(tensor.nbytes());
    checkpoint.tensors[entry.at("name").get<std::string>()] = tensor;
  }
  return checkpoint;
}

}  // namespace curnm
