#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "curnm/base/types.h"
#include "curnm/data/reader.h"

namespace curnm {

/// A row of a table of links, which need not have happened.
struct PairRow {
  std::string_view src;  // as it is written
  std::string_view dst;
  Timestamp time = 0;
};

/// Calls `visit` for each row of a plain table or of JSON lines with the columns of events, in the
/// order of the file. Further columns are not looked at, and kinds of ids not told apart. Returns
/// how many dates had no zone. Throws Error with file and line for what is no such row, for a table
/// without rows, and where `visit` throws one.
std::int64_t for_each_pair(const std::filesystem::path& path, ReadOptions options,
                           const std::function<void(const PairRow&)>& visit);

}  // namespace curnm
