#pragma once

#include <string_view>

#include "curnm/data/dataset.h"

namespace curnm {

/// What every command accepts as DATA: an imported folder, a raw file or folder in any known
/// format, or `synthetic[:preset]`.
Dataset open_dataset(std::string_view data);

}  // namespace curnm
