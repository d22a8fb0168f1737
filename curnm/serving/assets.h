#pragma once

#include <string_view>

// page.html and openapi.json, embedded as string literals by the build.

namespace curnm {

extern const std::string_view kPage;
extern const std::string_view kOpenapi;

}  // namespace curnm
