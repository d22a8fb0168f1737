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

void check_miner_flags(const CLI::App& command, const std::string& miner) {
  const MinerEntry& entry = find_entry("miner", miners(), miner);
  refuse_unused<MinerOptions>(command, entry.name, entry.options());
  if (miner != "curnm") refuse_flags(command, {"--preset"}, miner + ": it is for curnm");
}

void check_flags_of_parts(const CLI::App& command, const CurnmOptions& options) {
  if (options.ablate == "pi") {
    refuse_flags(command, {"--pi-strategy", "--pi-min", "--shrink", "--plateau"},
                 "--ablate pi, which holds pi constant");
  } else if (options.ablate == "random") {
    refuse_flags(command, {"--corrupt", "--delta-min", "--delta-max", "--delta-schedule"},
                 "--ablate random, without random negatives");
  } else if (options.ablate == "cache") {
    refuse_flags(command, {"--tau", "--alpha-max", "--alpha-epochs", "--alpha-schedule"},
                 "--ablate cache, without hard negatives");
  } else if (options.ablate == "disentangle") {
    refuse_flags(command,
                 {"--lambda", "--contrast", "--contrast-gradient", "--beta-epochs",
                  "--beta-schedule", "--time2vec-width"},
                 "--ablate disentangle, without factors");
  } else if (options.ablate == "temporal") {
    refuse_flags(command, {"--time2vec-width"}, "--ablate temporal, without Time2Vec");
  }
  if (options.pi_strategy == "constant") {
    refuse_flags(command, {"--pi-min", "--shrink", "--plateau"}, "--pi-strategy constant");
  } else if (options.pi_strategy == "linear") {
    refuse_flags(command, {"--plateau"}, "--pi-strategy linear");
  }
  if (options.lambda == 0) {
    refuse_flags(command, {"--contrast", "--contrast-gradient"}, "--lambda 0");
  }
}

}  // namespace curnm::cli
