#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "curnm/base/options.h"

namespace curnm::cli {

/// The largest number without a sign that fits one with a sign; what does not is read as one more.
inline constexpr std::int64_t kNoSign = std::numeric_limits<std::int64_t>::max() - 1;

/// One flag per field of an options struct, with its default and range in the help text.
/// REQUIRES: `options` outlives the parsing.
template <class Options>
void add_fields(CLI::App& command, Options& options) {
  options.fields([&]<class T>(const Field& field, T& value) {
    const std::string flag = "--" + std::string(field.name);
    std::string help(field.help);
    if (!field.symbol.empty()) help += fmt::format(", {}", field.symbol);
    if (const std::string range = range_of(field); !range.empty()) help += ", " + range;
    if (!field.choices.empty()) help += fmt::format(" [{}]", fmt::join(field.choices, "|"));
    if constexpr (std::same_as<T, bool>) {
      command.add_flag(flag, value, help);
    } else {
      CLI::Option* option = command.add_option(flag, value, help)->capture_default_str();
      // Read as a signed number, or -1 would wrap around.
      if constexpr (std::unsigned_integral<T>) option->check(CLI::Range(kNoSign));
    }
  });
}

/// The flags of an options struct that the command line gave.
template <class Options>
OptionNames given_fields(const CLI::App& command) {
  OptionNames given;
  for (std::string_view name : option_names<Options>()) {
    if (command.count("--" + std::string(name)) > 0) given.push_back(name);
  }
  return given;
}

/// Throws UsageError for a flag of the struct that was given and would have no effect.
template <class Options, class Names>
void refuse_unused(const CLI::App& command, std::string_view user, const Names& used) {
  for (std::string_view name : given_fields<Options>(command)) {
    if (std::ranges::find(used, name) != used.end()) continue;
    throw UsageError(fmt::format("--{} has no effect on {} (its options: {})", name, user,
                                 fmt::join(used, ", ")));
  }
}

/// Flags of a task that a split of the data's own has no use for.
constexpr std::initializer_list<const char*> kOfTimeSplits = {"--boundary", "--hidden-share"};

/// Throws UsageError where one of these flags was given, which would have no effect on `user`.
template <class Flags = std::initializer_list<const char*>>
void refuse_flags(const CLI::App& command, const Flags& flags, std::string_view user) {
  for (const char* flag : flags) {
    if (command.count(flag) > 0)
      throw UsageError(fmt::format("{} has no effect on {}", flag, user));
  }
}

}  // namespace curnm::cli
