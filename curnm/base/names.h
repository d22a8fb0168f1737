#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/error.h"

namespace curnm {

/// The candidate with the smallest edit distance to `name`, or nothing when none is near enough to
/// be a typing mistake.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// The text, or its beginning and its length where it is too long to quote.
std::string quotable(std::string_view text);

/// `unknown reader 'cvs'; did you mean 'csv'? (known: auto, csv, tgl)`
[[noreturn]] void unknown_name(std::string_view kind, std::string_view name,
                               std::span<const std::string_view> candidates);

/// Looks a name up in a table whose entries have a `name`; an explicit table survives static
/// linking and is the table of contents that help texts and errors print.
template <class Entry>
const Entry& find_entry(std::string_view kind, std::span<const Entry> table,
                        std::string_view name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : table) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  unknown_name(kind, name, names);
}

}  // namespace curnm
