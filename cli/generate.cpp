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
  SyntheticOptions options = synthetic_presets().front().options;
};

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
  // Declared before the fields, so that it is applied before them: flags override the preset.
  command->add_option_function<std::string>(
      "--preset",
      [flags](const std::string& name) {
        flags->preset = name;
        flags->options = find_entry("preset", synthetic_presets(), name).options;
      },
      "what the other options start from" + presets);
  add_fields(*command, flags->options);
  command->add_flag("--force", flags->force, "replace an existing data set");
  command->callback([flags, command] {
    if (flags->options.one_mode) {
      refuse_flags(*command, {"--source-share"}, "--one-mode: all nodes are sources");
    }
    const Dataset dataset = generate(flags->options, flags->preset);
    save_dataset(dataset, flags->out, flags->force);
    print_saved(dataset, flags->out);
  });
}

}  // namespace curnm::cli
