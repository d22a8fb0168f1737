#include "cli/options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/print.h"
#include "curnm/base/dates.h"
#include "curnm/base/error.h"
#include "curnm/data/open.h"
#include "curnm/miners/registry.h"
#include "curnm/training/run_spec.h"

namespace curnm::cli {
namespace {

std::string help_of(const Field& field, const std::vector<std::string>& choices) {
  std::string help(field.help);
  if (!field.symbol.empty()) help += fmt::format(", {}", field.symbol);
  if (const std::string range = range_of(field); !range.empty()) help += ", " + range;
  if (!choices.empty()) help += fmt::format(" [{}]", fmt::join(choices, "|"));
  return help;
}

CLI::Option* add_flag_of(CLI::App& command, const std::string& name, const std::string& help,
                         const std::string& default_text, GivenOptions& given) {
  return command
      .add_option_function<std::string>(
          "--" + name, [name, &given](const std::string& text) { given[name] = text; }, help)
      ->default_str(default_text);
}

void add_preset_flag(CLI::App& command, GivenOptions& given) {
  std::string help = "what the options of a miner start from";
  for (const MinerEntry& entry : miners()) {
    for (const Preset& preset : entry.presets) {
      help += fmt::format("\n{:>12}: {}", preset.name, preset.summary);
    }
  }
  add_flag_of(command, "preset", help, "", given)->group("Negatives");
}

std::string group_of(std::string_view part) {
  if (part == "model") return "Model";
  if (part == "decoder") return "Decoder";
  if (part == "miner") return "Negatives";
  return part == "task" ? "Split and evaluation" : "Training";
}

void add_flag_of(CLI::App& command, const OptionHelp& option, GivenOptions& given) {
  add_flag_of(command, std::string(option.field.name), help_of(option.field, option.choices),
              option.defaults, given)
      ->group(group_of(option.part));
}

}  // namespace

void add_fields(CLI::App& command, FieldsOf fields, GivenOptions& given, const std::string& group) {
  fields([&](const Field& field, const OptionValue& value) {
    const std::string name(field.name);
    std::vector<std::string> choices;
    for (const std::string_view choice : value.choices()) choices.emplace_back(choice);
    const std::string help = help_of(field, choices);
    if (value.is_switch()) {
      command
          .add_flag_callback(
              "--" + name, [name, &given] { given[name] = "true"; }, help)
          ->group(group);
    } else {
      add_flag_of(command, name, help, value.text(), given)->group(group);
    }
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

void add_run_flags(CLI::App& command, std::initializer_list<std::string_view> parts,
                   GivenOptions& given) {
  const auto wanted = [&](std::string_view part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  for (const OptionHelp& option : run_options()) {
    if (wanted(option.part)) add_flag_of(command, option, given);
  }
  if (wanted("miner")) add_preset_flag(command, given);
}

void add_run_flags_named(CLI::App& command, std::initializer_list<std::string_view> names,
                         GivenOptions& given) {
  for (const OptionHelp& option : run_options()) {
    if (std::find(names.begin(), names.end(), option.field.name) != names.end()) {
      add_flag_of(command, option, given);
    }
  }
}

void add_run_flags(CLI::App& command, GivenOptions& given) {
  add_run_flags(command, {"train", "model", "decoder", "miner", "task"}, given);
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
