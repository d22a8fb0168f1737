#include <numeric>

#include "cli/commands.h"
#include "cli/predictor.h"
#include "cli/print.h"
#include "curnm/base/csv.h"
#include "curnm/base/files.h"
#include "curnm/data/npy.h"

namespace curnm::cli {
namespace {

struct EmbedFlags {
  PredictorFlags model;
  std::string time;
  std::string out;
};

void run_embed(const EmbedFlags& flags) {
  constexpr std::string_view kEnding = ".npy";
  if (!flags.out.ends_with(kEnding)) {
    throw UsageError(fmt::format("--out {} must end in {}", flags.out, kEnding));
  }
  const double time = parse_time("time", flags.time);
  const Predictor predictor = open_predictor(flags.model);
  const Dataset& dataset = predictor.dataset();
  std::vector<NodeId> nodes(index(dataset.events.num_nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  const Predictor::Embeddings z = predictor.embed(nodes, time);

  std::string names = "id\n";
  for (const NodeId node : nodes) names += csv_field(dataset.ids.name(node)) + "\n";
  const std::string ids = flags.out.substr(0, flags.out.size() - kEnding.size()) + ".ids.csv";
  write_file_atomically(ids, names);
  AtomicFile file(flags.out);
  file.append(npy_header("<f4", std::array{std::ssize(nodes), z.width}));
  file.append({reinterpret_cast<const char*>(z.values.data()), z.values.size() * sizeof(float)});
  file.commit();
  say("{} with {} nodes, {} wide; {} names its rows\n", flags.out, grouped(std::ssize(nodes)),
      z.width, ids);
}

}  // namespace

void add_embed(CLI::App& app) {
  auto flags = std::make_shared<EmbedFlags>();
  CLI::App* command = app.add_subcommand("embed", "Write the embeddings of all nodes at a time");
  flags->model.add_to(*command);
  command->add_option("--time", flags->time, "a number or a date (UTC without a zone)")->required();
  command->add_option("--out", flags->out, "numpy array to write, X.npy; X.ids.csv names its rows")
      ->required();
  command->callback([flags] { run_embed(*flags); });
}

}  // namespace curnm::cli
