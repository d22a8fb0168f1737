#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <span>
#include <string_view>

#include "curnm/base/options.h"
#include "curnm/data/reader.h"

namespace curnm::cli {

/// Options of a task in help texts.
inline constexpr const char* kTaskGroup = "Split and evaluation";

/// A flag with its default, range and choices in the help text. Its value is collected as text; the
/// owner of the option interprets it. REQUIRES: `given` outlives the parsing.
void add_field(CLI::App& command, const Field& field, std::span<const std::string_view> choices,
               const std::string& default_text, GivenOptions& given, const std::string& group);
/// One flag per field of an options struct; of those that are named, where there are names.
void add_fields(CLI::App& command, FieldsOf fields, GivenOptions& given,
                const std::string& group = "Options",
                std::initializer_list<std::string_view> names = {});

/// One flag per option of reading raw tables.
void add_read_flags(CLI::App& command, GivenOptions& given);
/// Sets what was given, on top of what a run was read with.
ReadOptions read_options(const GivenOptions& given, ReadOptions recorded = {});
/// The same for a run whose network is `data` now. Throws UsageError if that is no raw table.
void set_read_options(const GivenOptions& given, const std::string& data, ReadOptions& recorded);

/// A time of the data as a flag has it: a number or a date, of which one without a zone is noted.
double parse_time(std::string_view flag, const std::string& text);

/// One flag per option of a run, in groups, and --preset. For curnm-torch alone: they are known to
/// the components.
void add_run_flags(CLI::App& command, GivenOptions& given);
/// The same for some parts of a run (train, model, decoder, miner, task).
void add_run_flags(CLI::App& command, std::initializer_list<std::string_view> parts,
                   GivenOptions& given);

/// Throws OptionError where one of these was given, which would have no effect on `user`.
void refuse_options(const GivenOptions& given, std::initializer_list<std::string_view> names,
                    std::string_view user);
/// The same for flags that are not options of a run; names include the dashes.
void refuse_flags(const CLI::App& command, std::initializer_list<const char*> flags,
                  std::string_view user);

}  // namespace curnm::cli
