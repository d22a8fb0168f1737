#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print.h"
#include "curnm/base/error.h"
#include "curnm/data/reader.h"

namespace curnm::cli {
namespace {

struct ImportFlags {
  std::string source;
  std::string out;
  std::string format = "auto";
  std::string name;
  bool force = false;
  GivenOptions read;
};

void run_import(const ImportFlags& flags) {
  if (is_dataset(flags.source)) fail("{} is imported already", flags.source);
  check_target(flags.out, flags.force);
  const Stopwatch watch;
  Dataset dataset = read_network(flags.source, flags.format, read_options(flags.read));
  if (!flags.name.empty()) dataset.name = flags.name;
  print_notes(dataset);
  save_dataset(dataset, flags.out, flags.force);
  print_saved(dataset, flags.out);
  say("read as {} and written in {:.2f} s ({} rows/s)\n", dataset.format, watch.seconds(),
      grouped(
          static_cast<std::int64_t>(static_cast<double>(dataset.events.size()) / watch.seconds())));
}

}  // namespace

void add_import(CLI::App& app) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command = app.add_subcommand("import", "Read a network and store it for fast loading");
  command->add_option("source", flags->source, "file or folder in any known format")->required();
  command->add_option("--out", flags->out, "folder to write")->required();
  std::string formats = "auto";
  for (const Reader& reader : readers()) formats += fmt::format("|{}", reader.name);
  command->add_option("--format", flags->format, formats)->capture_default_str();
  command->add_option("--name", flags->name, "name of the data set (default: from the source)");
  command->add_flag("--force", flags->force, "replace an existing data set");
  add_read_flags(*command, flags->read);
  command->callback([flags] { run_import(*flags); });
}

}  // namespace curnm::cli
