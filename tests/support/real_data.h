#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace curnm::testing {

/// A real network by name, from the folder CURNM_DATA or the one configured at build time; an empty
/// path if it is not available. Tests then skip and say so:
///   const auto path = real_network("uci");
///   if (path.empty()) GTEST_SKIP() << "uci is not at hand (set CURNM_DATA)";
inline std::filesystem::path real_network(const std::string& name) {
  const char* folder = std::getenv("CURNM_DATA");
  const auto path = std::filesystem::path(folder != nullptr ? folder : CURNM_DATA_DEFAULT) / name;
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

}  // namespace curnm::testing
