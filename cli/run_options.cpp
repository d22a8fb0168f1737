#include <algorithm>

#include "cli/options.h"
#include "curnm/miners/registry.h"
#include "curnm/training/run_spec.h"

namespace curnm::cli {
namespace {

void add_preset_flag(CLI::App& command, GivenOptions& given) {
  std::string help = "what the options of a miner start from";
  for (const MinerEntry& entry : miners()) {
    for (const Preset& preset : entry.presets) {
      help += fmt::format("\n{:>12}: {}", preset.name, preset.summary);
    }
  }
  add_field(command, {.name = "preset", .help = help}, {}, "", given, "Negatives");
}

std::string group_of(std::string_view part) {
  if (part == "model") return "Model";
  if (part == "decoder") return "Decoder";
  if (part == "miner") return "Negatives";
  return part == "task" ? kTaskGroup : "Training";
}

}  // namespace

void add_run_flags(CLI::App& command, std::initializer_list<std::string_view> parts,
                   GivenOptions& given) {
  const auto wanted = [&](std::string_view part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  for (const OptionHelp& option : run_options()) {
    if (!wanted(option.part)) continue;
    const std::vector<std::string_view> choices(option.choices.begin(), option.choices.end());
    add_field(command, option.field, choices, option.defaults, given, group_of(option.part));
  }
  if (wanted("miner")) add_preset_flag(command, given);
}

void add_run_flags(CLI::App& command, GivenOptions& given) {
  add_run_flags(command, {"train", "model", "decoder", "miner", "task"}, given);
}

}  // namespace curnm::cli
