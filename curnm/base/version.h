#pragma once

#include <string_view>

namespace curnm {

/// 0.2.0+1a2b3c4: of the project, and the commit that was built. Made by cmake/version.cmake.
extern const std::string_view kVersion;

}  // namespace curnm
