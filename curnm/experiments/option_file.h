#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "curnm/base/options.h"

namespace curnm {

/// The options of one run, in YAML: `epochs: 60`, one per line. Throws UsageError with line and
/// column for broken YAML, values of the wrong kind, and names that are not `known` (with the
/// nearest known one).
GivenOptions parse_option_file(std::string_view yaml, const std::string& file,
                               const std::vector<std::string_view>& known);
GivenOptions read_option_file(const std::filesystem::path& file,
                              const std::vector<std::string_view>& known);

}  // namespace curnm
