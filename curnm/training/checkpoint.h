#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace curnm {

/// Everything that a run is, at one instant: a document and named tensors.
///
/// The file is a magic word, the length of a JSON header (the document and the list of tensors),
/// the raw tensors, and a digest of all of it. It is written beside its target, synced and renamed,
/// so that a crash or a full disk leaves the previous one usable.
struct Checkpoint {
  nlohmann::ordered_json document;
  std::map<std::string, torch::Tensor> tensors;  // on the CPU

  /// Lists of tensors under one name.
  void put(const std::string& name, const std::vector<torch::Tensor>& list);
  std::vector<torch::Tensor> list(const std::string& name) const;
  /// Parameters of a module, by their names in it.
  void put(const std::string& name, const torch::nn::Module& module);
  /// Throws Error when a parameter is missing or of another shape.
  void restore(const std::string& name, torch::nn::Module& module) const;
};

void save_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& file);

/// Throws Error for a file that is missing, damaged, or of another version.
Checkpoint load_checkpoint(const std::filesystem::path& file);

}  // namespace curnm
