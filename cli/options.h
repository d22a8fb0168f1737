#pragma once

#include <CLI/CLI.hpp>

#include "curnm/base/options.h"

namespace curnm::cli {

/// One flag per field of an options struct, with its default and range in the help text.
/// REQUIRES: `options` outlives the parsing.
template <class Options>
void add_fields(CLI::App& command, Options& options) {
  options.fields([&]<class T>(const Field& field, T& value) {
    const std::string flag = "--" + std::string(field.name);
    std::string help(field.help);
    if (!field.symbol.empty()) help += fmt::format(", {}", field.symbol);
    if constexpr (std::same_as<T, bool>) {
      command.add_flag(flag, value, help);
    } else {
      command.add_option(flag, value, help)->capture_default_str();
    }
  });
}

}  // namespace curnm::cli
