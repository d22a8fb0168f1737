#pragma once

#include <string_view>

#include "curnm/data/dataset.h"

namespace curnm {

/// Whether the argument names a generated network: `synthetic[:preset]`.
bool is_synthetic(std::string_view data);

/// An argument that opens the same network from any working directory.
std::string from_anywhere(const std::string& data);

/// What every command accepts as DATA: an imported folder, a raw file or folder in any known
/// format, or `synthetic[:preset]`.
Dataset open_dataset(std::string_view data);

/// Whether the data set is the one with that digest and, where it is known, extent, or (`grown`)
/// begins with it: events may only have been appended.
bool is_same_network(const Dataset& dataset, const std::string& digest, const Extent& extent,
                     bool grown);

}  // namespace curnm
