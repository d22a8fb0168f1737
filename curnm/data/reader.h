#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/data/dataset.h"

namespace curnm {

/// How to read a plain table whose columns are not named as expected.
struct ReadOptions {
  std::string src_column;  // empty: one of the usual names
  std::string dst_column;
  std::string time_column;
  std::vector<std::string> drop_columns;  // neither ids, time, label nor features
  bool separate_ids = false;              // source 5 and destination 5 are different nodes

  bool operator==(const ReadOptions&) const = default;
};

/// One format. Adding one: a file with `recognises` and `read`, and a line in registry.cpp.
struct Reader {
  std::string_view name;
  std::string_view summary;
  bool (*recognises)(const std::filesystem::path& path);
  Dataset (*read)(const std::filesystem::path& path, const ReadOptions& options);
};

/// All of them; the first that recognises a path reads it.
std::span<const Reader> readers();

/// Reads a file or folder in the named format, or in whichever recognises it ("auto"). Throws Error
/// for anything that is not a well-formed network, UsageError for an unknown format.
Dataset read_network(const std::filesystem::path& path, std::string_view format = "auto",
                     const ReadOptions& options = {});

}  // namespace curnm
