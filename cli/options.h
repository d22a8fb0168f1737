#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string_view>

#include "curnm/base/options.h"
#include "curnm/data/reader.h"

namespace curnm::cli {

/// One flag per field of an options struct, with its default and range in the help text. Values are
/// collected as text; the owner of the options interprets them. REQUIRES: `given` outlives the
/// parsing.
void add_fields(CLI::App& command, FieldsOf fields, GivenOptions& given,
                const std::string& group = "Options");

/// One flag per option of reading raw tables.
void add_read_flags(CLI::App& command, GivenOptions& given);
/// Sets what was given, on top of what a run was read with.
ReadOptions read_options(const GivenOptions& given, ReadOptions recorded = {});
/// The same for a run whose network is `data` now. Throws UsageError if that is no raw table.
void set_read_options(const GivenOptions& given, const std::string& data, ReadOptions& recorded);

/// A time of the data as a flag has it: a number or a date, of which one without a zone is noted.
double parse_time(std::string_view flag, const std::string& text);

/// One flag per option of a run, in groups, and --preset.
void add_run_flags(CLI::App& command, GivenOptions& given);
/// The same for some parts of a run (train, model, decoder, miner, task).
void add_run_flags(CLI::App& command, std::initializer_list<std::string_view> parts,
                   GivenOptions& given);

/// The same for options that are named.
void add_run_flags_named(CLI::App& command, std::initializer_list<std::string_view> names,
                         GivenOptions& given);

/// Throws OptionError where one of these was given, which would have no effect on `user`.
void refuse_options(const GivenOptions& given, std::initializer_list<std::string_view> names,
                    std::string_view user);
/// The same for flags that are not options of a run; names include the dashes.
void refuse_flags(const CLI::App& command, std::initializer_list<const char*> flags,
                  std::string_view user);

}  // namespace curnm::cli
