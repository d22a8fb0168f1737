#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "curnm/base/digest.h"
#include "support/temporary_folder.h"

// Functions that damage stored data sets.

namespace curnm::testing {

/// All column files of the format, in the order in which they enter the digest of the whole.
inline constexpr const char* kColumnFiles[] = {
    "time.f64",          "src.i32",           "dst.i32",         "labels.f32",     "roll.u8",
    "edge_features.f32", "node_features.f32", "communities.i32", "id_offsets.i64", "id_text.txt"};

inline nlohmann::ordered_json read_meta_json(const std::filesystem::path& folder) {
  return nlohmann::ordered_json::parse(read_bytes(folder / "meta.json"));
}

inline void write_meta_json(const std::filesystem::path& folder,
                            const nlohmann::ordered_json& meta) {
  write_bytes(folder / "meta.json", meta.dump(2));
}

/// A field that fuzzing may have changed to any type.
inline std::int64_t number_or_zero(const nlohmann::ordered_json& meta, const char* key) {
  const auto found = meta.find(key);
  return found != meta.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

/// Sizes and digests as they would be if the files in the folder had always been like this, so
/// that only a check of the content itself can find the damage. REQUIRES: meta is an object.
inline void seal(nlohmann::ordered_json& meta, const std::filesystem::path& folder) {
  std::string whole = "nodes " + std::to_string(number_or_zero(meta, "nodes")) + "\n";
  auto columns = nlohmann::ordered_json::object();
  for (const std::string file : kColumnFiles) {
    if (!std::filesystem::exists(folder / file)) continue;
    const std::string bytes = read_bytes(folder / file);
    const std::int64_t width =
        file == "edge_features.f32"   ? number_or_zero(meta, "edge_feature_width")
        : file == "node_features.f32" ? number_or_zero(meta, "node_feature_width")
                                      : 1;
    const std::string column = digest(bytes);
    whole += file + " " + std::to_string(width) + " " + column + "\n";
    columns[file] = {{"bytes", bytes.size()}, {"digest", column}};
  }
  meta["columns"] = columns;
  meta["digest"] = digest(whole);
}

inline void seal(const std::filesystem::path& folder) {
  nlohmann::ordered_json meta = read_meta_json(folder);
  seal(meta, folder);
  write_meta_json(folder, meta);
}

}  // namespace curnm::testing
