#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/nn/module.h"

namespace curnm {

/// The kind of a tensor file, and its format version.
struct TensorFileKind {
  std::string_view name;  // "checkpoint"
  int version = 1;
  std::string_view remedy;  // what to do about a damaged one
};

/// A document and named tensors.
///
/// The file is a magic word with kind and version, the length of a JSON header (the document and
/// the list of tensors), the raw tensors, and a digest of all of it. It is written beside its
/// target, synced and renamed, so that a crash or a full disk leaves the previous one usable.
struct TensorFile {
  nlohmann::ordered_json document;
  std::map<std::string, Tensor> tensors;  // on the CPU

  /// Lists of tensors under one name.
  void put(const std::string& name, const std::vector<Tensor>& list);
  /// Throws UnusableRun or BadJson when it is not there.
  std::vector<Tensor> list(const std::string& name) const;
  /// Parameters of a module, by their names in it.
  void put(const std::string& name, const Module& module);
  /// Throws UnusableRun when a parameter is missing or of another shape.
  void check(const std::string& name, const Module& module) const;
  /// The same, and nothing is changed then.
  void restore(const std::string& name, const Module& module) const;
};

/// All of it as bytes, for another process of this program; and back. Throws UnusableRun.
std::string packed(const TensorFile& contents);
TensorFile unpacked(std::string_view bytes);

void save_tensors(const TensorFile& contents, const TensorFileKind& kind,
                  const std::filesystem::path& file);

/// Throws Error for a file that is missing, UnusableRun for one that is damaged, of another kind or
/// of a newer version.
TensorFile load_tensors(const TensorFileKind& kind, const std::filesystem::path& file);

/// Does the file begin like one of that kind, in any version?
bool is_tensor_file(const TensorFileKind& kind, const std::filesystem::path& file);

}  // namespace curnm
