#pragma once

#include <string_view>

// style.css and script.js, which the build makes string literals of.

namespace curnm {

extern const std::string_view kStyle;
extern const std::string_view kScript;

}  // namespace curnm
