#include "curnm/experiments/run_result.h"

#include <cmath>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/base/json.h"
#include "curnm/runs/run_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// {"mining": {"pi": 1}} as {"mining.pi": 1}, without values that are not numbers.
void flatten(const ordered_json& from, const std::string& prefix, ordered_json& into) {
  for (const auto& [name, value] : from.items()) {
    if (value.is_object()) {
      flatten(value, prefix + name + ".", into);
    } else if (value.is_number() && std::isfinite(value.get<double>())) {
      into[prefix + name] = value;
    }
  }
}

std::vector<EpochMetrics> curve_of(const std::vector<EpochRecord>& records) {
  std::vector<EpochMetrics> curve;
  for (const EpochRecord& record : records) {
    const ordered_json line = to_json(record);
    ordered_json metrics = ordered_json::object();
    if (record.validation_mrr) metrics["validation_mrr"] = *record.validation_mrr;
    for (const char* part : {"losses", "validation", "mining", "stages"}) {
      flatten(line[part], std::string(part) + ".", metrics);
    }
    curve.push_back({.epoch = record.epoch,
                     .validation_ap = record.validation_ap,
                     .seconds = record.seconds,
                     .metrics = metrics.dump(),
                     .validation_mrr = record.validation_mrr.value_or(kNoValue)});
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
  for (const auto& [set, key] :
       {std::pair{"test", "best_ranking"}, std::pair{"test_new", "best_ranking_new"}}) {
    if (!result.contains(key) || result[key].is_null()) continue;
    const ordered_json& best = result[key];
    run.baselines.push_back({set, std::string(kRankingScores), best.at("name"), best.at("mrr")});
  }
}

void read_result(const ordered_json& result, RunResult& run) {
  read_scores(result, run);
  run.best_epoch = result.at("best_epoch");
  run.seconds_per_epoch = result.at("seconds_per_epoch");
  run.training_events = result.value("training_events", std::int64_t{0});
  if (result.contains("environment"))
    run.environment = environment_from_json(result["environment"]);
  run.state = RunState::kDone;
}

}  // namespace

RunResult read_run_folder(const fs::path& path) {
  const RunFolder folder(path);
  const ordered_json options = folder.read_options();
  try {
    RunResult run;
    run.folder = path.string();
    run.network = last_name(options.at("data").get<std::string>());
    run.model = options.at("train").at("model");
    run.miner = options.at("train").at("miner");
    run.seed = options.at("train").at("seed");
    run.version = options.at("version");
    run.data_digest = options.at("data_digest");
    run.state = RunState::kPaused;
    for (const auto& [part, values] : options.items()) {
      if (values.is_object()) run.options[part] = values;
    }
    run.curve = curve_of(folder.read_metrics());
    run.epochs = std::ssize(run.curve);
    if (folder.is_finished()) read_result(folder.read_result(), run);
    return run;
  } catch (const nlohmann::json::exception& error) {
    fail<UnusableRun>("{} is damaged: {}", path.string(), json_reason(error));
  }
}

}  // namespace curnm
