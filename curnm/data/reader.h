#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/data/dataset.h"

namespace curnm {

/// Whether source 5 and destination 5 are different nodes.
enum class SeparateIds {
  kAuto,  // where the header names two kinds: user and item
  kOn,
  kOff,
};
constexpr ChoiceNames<3> choice_names(SeparateIds) { return {"auto", "on", "off"}; }

/// What becomes of rows with empty cells.
enum class EmptyCells {
  kError,
  kFill,  // features and labels are 0
  kDrop,  // the row is left out
};
constexpr ChoiceNames<3> choice_names(EmptyCells) { return {"error", "fill", "drop"}; }

/// How to read a table that cannot be read without a word from the user. Columns are given by their
/// names, or by their numbers from 1 on; lists are divided by commas.
struct ReadOptions {
  std::string src_column = {};  // empty: one of the usual names
  std::string dst_column = {};
  std::string time_column = {};
  std::string drop_columns = {};      // neither ids, time, label nor features
  std::string category_columns = {};  // features whose numbers are codes
  SeparateIds separate_ids = SeparateIds::kAuto;
  EmptyCells empty = EmptyCells::kError;
  std::string node_features = {};  // a table whose first column has the ids
  std::int64_t unpack_limit = 0;   // MB; 0: as UnpackLimit says

  void fields(const FieldVisitor& visit);
  bool operator==(const ReadOptions&) const = default;
};

/// Which options of reading a format has a use for, besides the limit of unpacking.
enum class ReadUse {
  kNone,
  kCells,  // empty cells and node features
  kAll,    // names of columns, too
};

/// One format. Adding one: a file with `recognises` and `read`, and a line in registry.cpp.
struct Reader {
  std::string_view name;
  std::string_view summary;
  bool (*recognises)(const std::filesystem::path& path);
  Dataset (*read)(const std::filesystem::path& path, const ReadOptions& options);
  ReadUse uses = ReadUse::kNone;
};

/// All of them; the first that recognises a path reads it.
std::span<const Reader> readers();

/// Reads a file or folder in the named format, or in whichever recognises it ("auto"). Throws Error
/// for anything that is not a well-formed network, UsageError for an unknown format.
Dataset read_network(const std::filesystem::path& path, std::string_view format = "auto",
                     const ReadOptions& options = {});

/// The parts of a list as users write it: "a,b".
std::vector<std::string> split_list(std::string_view list);

}  // namespace curnm
