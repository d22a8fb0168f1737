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

std::vector<IdleFlags> idle_flags(const CurnmOptions& options) {
  std::vector<IdleFlags> idle;
  if (options.ablate == "pi") {
    idle.push_back({{"--pi-strategy", "--pi-min", "--shrink", "--plateau", "--curriculum-metric"},
                    "--ablate pi, which holds pi constant"});
  } else if (options.ablate == "random") {
    idle.push_back({{"--delta-min", "--delta-max", "--delta-schedule"},
                    "--ablate random, without random negatives"});
    // They may still be drawn, to measure progress by.
    if (options.curriculum_metric == "validation") {
      idle.push_back({{"--corrupt"}, "--ablate random, without random negatives"});
    }
  } else if (options.ablate == "cache") {
    idle.push_back({{"--tau", "--alpha-max", "--alpha-epochs", "--alpha-schedule"},
                    "--ablate cache, without hard negatives"});
  } else if (options.ablate == "disentangle") {
    idle.push_back({{"--lambda", "--contrast", "--contrast-gradient", "--beta-epochs",
                     "--beta-schedule", "--time2vec-width"},
                    "--ablate disentangle, without factors"});
  } else if (options.ablate == "temporal") {
    idle.push_back({{"--time2vec-width"}, "--ablate temporal, without Time2Vec"});
  }
  if (options.pi_strategy == "constant") {
    idle.push_back(
        {{"--pi-min", "--shrink", "--plateau", "--curriculum-metric"}, "--pi-strategy constant"});
  } else if (options.pi_strategy == "linear") {
    idle.push_back({{"--plateau", "--curriculum-metric"}, "--pi-strategy linear"});
  }
  if (options.alpha_max == 0) {
    idle.push_back({{"--alpha-epochs", "--alpha-schedule"}, "--alpha-max 0"});
  } else if (options.alpha_schedule == "constant") {
    idle.push_back({{"--alpha-epochs"}, "--alpha-schedule constant"});
  }
  if (options.beta_schedule == "constant") {
    idle.push_back({{"--beta-epochs"}, "--beta-schedule constant"});
  }
  if (options.lambda == 0) {
    idle.push_back({{"--contrast", "--contrast-gradient"}, "--lambda 0"});
  }
  return idle;
}

void refuse_idle_flags(const CLI::App& command, const CurnmOptions& options) {
  for (const IdleFlags& idle : idle_flags(options)) refuse_flags(command, idle.flags, idle.of);
}

}  // namespace curnm::cli
