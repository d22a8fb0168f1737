#include "cli/options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/print.h"
#include "curnm/base/dates.h"
#include "curnm/base/error.h"
#include "curnm/data/open.h"

namespace curnm::cli {
namespace {

std::string help_of(const Field& field, std::span<const std::string_view> choices) {
  std::string help(field.help);
  if (!field.symbol.empty()) help += fmt::format(", {}", field.symbol);
  if (const std::string range = range_of(field); !range.empty()) help += ", " + range;
  if (!choices.empty()) help += fmt::format(" [{}]", fmt::join(choices, "|"));
  return help;
}

}  // namespace

void add_field(CLI::App& command, const Field& field, std::span<const std::string_view> choices,
               const std::string& default_text, GivenOptions& given, const std::string& group) {
  const std::string name(field.name);
  command
      .add_option_function<std::string>(
          "--" + name, [name, &given](const std::string& text) { given[name] = text; },
          help_of(field, choices))
      ->default_str(default_text)
      ->group(group);
}

void add_fields(CLI::App& command, FieldsOf fields, GivenOptions& given, const std::string& group,
                std::initializer_list<std::string_view> names) {
  fields([&](const Field& field, const OptionValue& value) {
    if (names.size() > 0 && std::ranges::find(names, field.name) == names.end()) return;
    if (!value.is_switch()) {
      return add_field(command, field, value.choices(), value.text(), given, group);
    }
    const std::string name(field.name);
    command
        .add_flag_callback(
            "--" + name, [name, &given] { given[name] = "true"; }, help_of(field, {}))
        ->group(group);
  });
}

void add_read_flags(CLI::App& command, GivenOptions& given) {
  ReadOptions defaults;
  add_fields(command, defaults, given, "Raw tables");
}

ReadOptions read_options(const GivenOptions& given, ReadOptions recorded) {
  set_given(given, recorded);
  // A run may be continued from another folder.
  if (!recorded.node_features.empty())
    recorded.node_features = from_anywhere(recorded.node_features);
  return recorded;
}

void set_read_options(const GivenOptions& given, const std::string& data, ReadOptions& recorded) {
  if (!given.empty() && !is_raw(data)) {
    throw UsageError(
        fmt::format("--{} is for raw tables, and {} is none", given.begin()->first, data));
  }
  recorded = read_options(given, std::move(recorded));
}

double parse_time(std::string_view flag, const std::string& text) {
  double time = 0;
  OptionValue(time).parse({.name = flag, .is_time = true}, text);
  if (const auto date = parse_date(text); date && !date->has_zone) {
    say("note: --{} {} has no zone and is taken as UTC\n", flag, text);
  }
  return time;
}

void refuse_options(const GivenOptions& given, std::initializer_list<std::string_view> names,
                    std::string_view user) {
  for (const std::string_view name : names) {
    if (!given.contains(std::string(name))) continue;
    throw OptionError(OptionError::Kind::kNoEffect, std::string(name),
                      fmt::format("--{} has no effect on {}", name, user));
  }
}

void refuse_flags(const CLI::App& command, std::initializer_list<const char*> flags,
                  std::string_view user) {
  for (const char* flag : flags) {
    if (command.count(flag) > 0)
      throw UsageError(fmt::format("{} has no effect on {}", flag, user));
  }
}

}  // namespace curnm::cli
