#include <filesystem>

#include "cli/commands.h"
#include "cli/print.h"
#include "curnm/base/error.h"
#include "curnm/prediction/trained_model.h"
#include "curnm/runs/run_folder.h"

namespace curnm::cli {
namespace {

void run_export(const std::string& run, const std::string& out) {
  const RunFolder folder(run);
  folder.read_options();  // throws with the reason if this is not a run
  if (!folder.is_finished()) {
    fail("{0} is not finished: `curnm train --resume {0}` goes on with it", run);
  }
  if (std::filesystem::exists(out)) fail("{} exists already", out);
  const TrainedModel model = load_model(folder.model());
  save_model(model, out);
  say("{} with {} of {} nodes, trained on {} ({} events), {} bytes\n", out, model.model,
      grouped(model.extent.nodes), model.data, grouped(model.extent.events),
      grouped(static_cast<std::int64_t>(std::filesystem::file_size(out))));
}

}  // namespace

void add_export(CLI::App& app) {
  struct Flags {
    std::string run;
    std::string out;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("export", "Write one file with all that predictions need of a run");
  command->add_option("run", flags->run, "folder of a finished run")->required();
  command->add_option("--out", flags->out, "file to write")->required();
  command->callback([flags] { run_export(flags->run, flags->out); });
}

}  // namespace curnm::cli
