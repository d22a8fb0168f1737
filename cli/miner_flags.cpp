#include "cli/miner_flags.h"

#include "cli/options.h"
#include "curnm/base/names.h"
#include "curnm/miners/miner.h"

namespace curnm::cli {

void add_miner_flags(CLI::App& command, MinerOptions& options) {
  std::string presets;
  for (const CurnmPreset& preset : curnm_presets()) {
    presets += fmt::format("\n{:>12}: {}", preset.name, preset.summary);
  }
  // Declared before the fields, so that it is applied before them: flags override the preset.
  command.add_option_function<std::string>(
      "--preset",
      [&options](const std::string& name) {
        options = find_entry("preset", curnm_presets(), name).options;
      },
      "what the options of curnm start from" + presets);
  add_fields(command, options);
}

void check_miner_flags(const CLI::App& command, const std::string& miner,
                       const MinerOptions& options) {
  const MinerEntry& entry = find_entry("miner", miners(), miner);
  refuse_unused<MinerOptions>(command, entry.name, entry.options());
  if (miner != "curnm") refuse_flags(command, {"--preset"}, miner + ": it is for curnm");
  if (options.curnm.ablate == "pi") {
    refuse_flags(command, {"--pi-strategy"}, "--ablate pi, which holds pi constant");
  }
}

}  // namespace curnm::cli
