#pragma once

#include <string_view>

#include "curnm/data/dataset.h"

namespace curnm {

/// Whether it names a network that is made, not read: `synthetic[:preset]`.
bool is_synthetic(std::string_view data);

/// The same network as `open_dataset` would open, whatever the working directory.
std::string from_anywhere(const std::string& data);

/// What every command accepts as DATA: an imported folder, a raw file or folder in any known
/// format, or `synthetic[:preset]`.
Dataset open_dataset(std::string_view data);

/// Whether the data set is the one with that digest, or (`grown`) begins with it: later events may
/// only have been added after those.
bool is_same_network(const Dataset& dataset, const std::string& digest, const Extent& extent,
                     bool grown);

}  // namespace curnm
