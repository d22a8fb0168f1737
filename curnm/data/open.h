#pragma once

#include <string_view>

#include "curnm/data/dataset.h"
#include "curnm/data/reader.h"

namespace curnm {

/// Whether the argument names a generated network: `synthetic[:preset]`.
bool is_synthetic(std::string_view data);

/// An argument that opens the same network from any working directory.
std::string from_anywhere(const std::string& data);

/// What every command accepts as DATA: an imported folder, a raw file or folder in any known
/// format, or `synthetic[:preset]`.
/// The options are for raw tables: UsageError if they are given for anything else.
Dataset open_dataset(std::string_view data, const ReadOptions& options = {});

/// Whether the argument is a raw network, which options of reading may be given for.
bool is_raw(const std::string& data);

/// Whether the data set is the one with that digest and, where it is known, extent, or (`grown`)
/// begins with it: events may only have been appended.
bool is_same_network(const Dataset& dataset, const std::string& digest, const Extent& extent,
                     bool grown);

/// What is known about a network that was used before.
struct KnownNetwork {
  std::string digest = {};
  Extent extent = {};
  ColumnDigests columns = {};     // empty: unknown
  StretchDigests stretches = {};  // of its events; empty: unknown
};
/// How a data set differs from it, as far as that can be known: "it has 90 events instead of 100".
std::string difference(const Dataset& dataset, const KnownNetwork& known);

}  // namespace curnm
