#pragma once

#include <string_view>

// style.css and script.js, embedded as string literals by the build.

namespace curnm {

extern const std::string_view kStyle;
extern const std::string_view kScript;

}  // namespace curnm
