#pragma once

#include "curnm/data/rows.h"

namespace curnm {

/// Whether the first line of a file begins with '{'.
bool is_json_lines(const std::filesystem::path& path);

/// JSON lines: one object per line, its values as text: numbers as they are written, true and
/// false, "" for null. The first row that next() gives has the keys, like a header.
///
/// Objects must have the keys of the first one, in any order, unless the source is `sparse`: then
/// the keys of all are collected first, which reads the file twice, and missing ones are "".
std::unique_ptr<Rows> open_json_rows(const std::filesystem::path& path, const TableSource& source);

}  // namespace curnm
