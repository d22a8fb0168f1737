#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string_view>

#include "curnm/base/options.h"

namespace curnm::cli {

/// One flag per field of an options struct, with its default and range in the help text. What the
/// command line gives is collected as text: what it means is decided where the options are.
/// REQUIRES: `given` outlives the parsing.
void add_fields(CLI::App& command, FieldsOf fields, GivenOptions& given);

/// One flag per option of a run, by groups, and --preset.
void add_run_flags(CLI::App& command, GivenOptions& given);
/// The same for some parts of a run (train, model, decoder, miner, task).
void add_run_flags(CLI::App& command, std::initializer_list<std::string_view> parts,
                   GivenOptions& given);

/// Throws OptionError where one of these was given, which would have no effect on `user`.
void refuse_options(const GivenOptions& given, std::initializer_list<std::string_view> names,
                    std::string_view user);
/// The same for flags that are no options of a run, with their dashes.
void refuse_flags(const CLI::App& command, std::initializer_list<const char*> flags,
                  std::string_view user);

}  // namespace curnm::cli
