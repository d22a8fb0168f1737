#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print.h"
#include "curnm/base/names.h"
#include "curnm/data/synthetic.h"

namespace curnm::cli {
namespace {

struct GenerateFlags {
  std::string out;
  std::string preset = std::string(synthetic_presets().front().name);
  bool force = false;
  GivenOptions given;
};

void run_generate(const GenerateFlags& flags) {
  SyntheticOptions options = find_entry("preset", synthetic_presets(), flags.preset).options;
  set_given(flags.given, options);
  refuse_idle(flags.given, options);
  const Dataset dataset = generate(options, flags.preset);
  save_dataset(dataset, flags.out, flags.force);
  print_saved(dataset, flags.out);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command =
      app.add_subcommand("generate", "Make a synthetic network whose truth is known");
  command->add_option("--out", flags->out, "folder to write")->required();
  std::string presets;
  for (const SyntheticPreset& preset : synthetic_presets()) {
    presets += fmt::format("\n{:>12}: {}", preset.name, preset.summary);
  }
  command->add_option("--preset", flags->preset, "what the other options start from" + presets);
  SyntheticOptions defaults = synthetic_presets().front().options;
  add_fields(*command, defaults, flags->given);
  command->add_flag("--force", flags->force, "replace an existing data set");
  command->callback([flags] { run_generate(*flags); });
}

}  // namespace curnm::cli
