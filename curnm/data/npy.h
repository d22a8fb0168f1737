#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "curnm/base/column.h"

namespace curnm {

/// Reads a numpy array of one or two dimensions as 32-bit floats (from f2, f4, f8, signed and
/// unsigned integers and bool; C or Fortran order). One dimension is a matrix of width 1. Throws
/// Error for anything else, and for values that are not finite.
FeatureMatrix read_npy(const std::filesystem::path& path);

/// What stands before the values of a numpy array, in C order. `type`: as numpy writes it, such as
/// <f4.
std::string npy_header(std::string_view type, std::span<const std::int64_t> shape);

}  // namespace curnm
