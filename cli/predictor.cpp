#include "cli/predictor.h"

#include "cli/print.h"
#include "cli/process.h"
#include "curnm/base/printable.h"
#include "curnm/data/column_names.h"
#include "curnm/data/open.h"
#include "curnm/data/text_file.h"
#include "curnm/training/session.h"

namespace curnm::cli {

void PredictorFlags::add_to(CLI::App& command) {
  command.add_option("run", run, "folder of a run, or a file that `curnm export` wrote")
      ->required();
  command.add_option("--data", data,
                     "the run's network, where it is now; later events may have been added");
  add_read_flags(command, read);
  command.add_option("--threads", threads, "0: OMP_NUM_THREADS or all cores");
  add_keep_flag(command, keep);
}

void add_keep_flag(CLI::App& command, std::string& keep) {
  command.add_option("--keep", keep,
                     "look up this much of the past only, and up to a quarter more: a number of "
                     "events, or an age such as 12h or 30d; memories have seen everything");
}

ModelAndEvents open_model_and_events(const std::string& run, const std::string& data,
                                     const GivenOptions& read) {
  if (is_model_file(run)) {
    TrainedModel model = load_model(run);
    const std::string path = data.empty() ? model.data : data;
    set_read_options(read, path, model.read);
    Dataset events = open_dataset(path, is_raw(path) ? model.read : ReadOptions{});
    return {std::move(model), std::move(events)};
  }
  const RunFolder folder(run);
  RunSpec spec = read_run(folder, RunUse::kTest);
  set_read_options(read, data.empty() ? spec.data : data, spec.read);
  Dataset events = open_run_data(spec, data, /*grown=*/true);
  TrainedModel model = read_trained_model(folder, spec, events);
  return {std::move(model), std::move(events)};
}

Predictor open_predictor(const PredictorFlags& flags) {
  const Keep keep = parse_keep(flags.keep);  // mistakes first
  set_threads(flags.threads);
  ModelAndEvents opened = open_model_and_events(flags.run, flags.data, flags.read);
  return {std::move(opened.model), std::move(opened.events), keep};
}

std::vector<NodeId> NodeList::known() const {
  std::vector<NodeId> nodes;
  for (const Entry& entry : entries) {
    if (entry.node != kNoNode) nodes.push_back(entry.node);
  }
  return nodes;
}

NodeList read_nodes(const std::filesystem::path& path, const Predictor& predictor, NodeId like,
                    Unknown unknown) {
  NodeList list;
  LineReader lines(path);
  while (lines.next()) {
    const std::string name(lines.line());
    if (name.empty()) continue;
    if (!is_printable(name)) {
      fail("{}:{}: '{}' is not UTF-8 text, or has control characters", path.string(),
           lines.number(), printable(name));
    }
    const NodeId node = predictor.find_known(name, like);
    if (node == kNoNode) {
      const ColumnRole role = guess_role(name).role;
      if (lines.number() == 1 && (role == ColumnRole::kSrc || role == ColumnRole::kDst)) {
        say("note: {}: the first line, {}, is taken for the name of a column\n", path.string(),
            printable(name));
        continue;
      }
      if (unknown == Unknown::kStop) {
        try {
          predictor.find(name, like);
        } catch (const Error& error) {
          fail("{}:{}: {}", path.string(), lines.number(), error.what());
        }
      }
      ++list.unknown;
    }
    list.entries.push_back({name, node});
  }
  if (list.entries.empty()) fail("{} has no nodes", path.string());
  return list;
}

}  // namespace curnm::cli
