#include "curnm/experiments/run_folder.h"

#include "curnm/base/error.h"
#include "curnm/base/files.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// {"mining": {"pi": 1}} as {"mining.pi": 1}.
void flatten(const ordered_json& from, const std::string& prefix, ordered_json& into) {
  for (const auto& [name, value] : from.items()) {
    if (value.is_object()) {
      flatten(value, prefix + name + ".", into);
    } else if (value.is_number()) {
      into[prefix + name] = value;
    }
  }
}

/// JSON of a file of the run, or of a line of one.
ordered_json parse(std::string_view text, const fs::path& file) {
  try {
    return ordered_json::parse(text);
  } catch (const nlohmann::json::exception&) {
    fail("{} is damaged: `curnm train --resume {}` writes it again", file.string(),
         file.parent_path().string());
  }
}

std::vector<EpochMetrics> read_metrics(const fs::path& file) {
  std::vector<EpochMetrics> curve;
  if (!fs::exists(file)) return curve;
  const auto mapped = MappedFile::open(file);
  std::string_view rest = mapped->text();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const ordered_json line = parse(rest.substr(0, end), file);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ordered_json metrics = ordered_json::object();
    for (const char* part : {"losses", "mining", "stages"}) {
      if (line.contains(part)) flatten(line[part], std::string(part) + ".", metrics);
    }
    curve.push_back({.epoch = line.at("epoch"),
                     .validation_ap = line.at("validation_ap"),
                     .seconds = line.at("seconds"),
                     .metrics = metrics.dump()});
  }
  return curve;
}

void read_scores(const ordered_json& result, RunResult& run) {
  for (const std::string set : {"test", "test_new"}) {
    if (!result.contains(set) || result[set].is_null()) continue;
    for (const auto& [protocol, metrics] : result[set].items()) {
      if (!metrics.is_object()) continue;  // the number of events
      for (const auto& [metric, value] : metrics.items()) {
        run.scores.push_back({set, protocol, metric, value});
      }
    }
  }
  for (const auto& [set, key] :
       {std::pair{"test", "best_baseline"}, std::pair{"test_new", "best_baseline_new"}}) {
    if (!result.contains(key) || result[key].is_null()) continue;
    for (const auto& [protocol, best] : result[key].items()) {
      run.baselines.push_back({set, protocol, best.at("name"), best.at("ap")});
    }
  }
}

void read_result(const fs::path& file, RunResult& run) {
  const ordered_json result = parse(MappedFile::open(file)->text(), file);
  read_scores(result, run);
  run.best_epoch = result.at("best_epoch");
  run.seconds_per_epoch = result.at("seconds_per_epoch");
  run.training_events = result.value("training_events", std::int64_t{0});
  if (result.contains("environment"))
    run.environment = environment_from_json(result["environment"]);
  run.state = RunState::kDone;
}

}  // namespace

RunResult read_run_folder(const fs::path& folder) {
  const fs::path options_file = folder / "options.json";
  if (!fs::exists(options_file)) fail("{} is not a run: it has no options.json", folder.string());
  try {
    ordered_json options = ordered_json::parse(MappedFile::open(options_file)->text());
    RunResult run;
    run.folder = folder.string();
    run.network = last_name(options.at("data").get<std::string>());
    run.model = options.at("train").at("model");
    run.miner = options.at("train").at("miner");
    run.seed = options.at("train").at("seed");
    run.version = options.at("version");
    run.data_digest = options.at("data_digest");
    run.state = RunState::kPaused;
    for (const char* part : {"train", "model", "miner", "task"}) {
      run.options[part] = options.at(part);
    }
    run.curve = read_metrics(folder / "metrics.jsonl");
    run.epochs = std::ssize(run.curve);
    if (fs::exists(folder / "result.json")) read_result(folder / "result.json", run);
    return run;
  } catch (const nlohmann::json::exception& error) {
    fail("{} is damaged: {}", folder.string(), error.what());
  }
}

}  // namespace curnm
