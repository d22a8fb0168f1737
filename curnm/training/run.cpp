#include "curnm/training/run.h"

#include "curnm/base/file_lock.h"
#include "curnm/base/files.h"
#include "curnm/base/version.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/baselines.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Tests a scorer on the test and the new-node test events. `start` brings it to the end of
/// validation.
ordered_json test_scorer(const LinkTask& task, const TestRequest& request,
                         const std::function<std::unique_ptr<Scorer>()>& start) {
  ordered_json result;
  const auto test = [&](const char* name, const EvaluationSet* set) {
    if (set == nullptr) {
      result[name] = nullptr;
      return;
    }
    const std::vector<ProtocolScores> scores =
        score_protocols(*start(), *set, request.protocols, task.evaluation_batch());
    if (request.sink) request.sink(name, *set, scores);
    result[name] = protocol_metrics(scores, task.evaluation_batch());
    result[name]["events"] = set->positives.size();
    if (request.mrr_negatives > 0) {
      result[name]["mrr"] = mean_reciprocal_rank(*start(), *set, task, request.mrr_negatives);
    }
  };
  test("test", &task.test());
  test("test_new", task.new_test());
  return result;
}

/// What `read` makes of the record of a run.
template <class Read>
auto read_options(const fs::path& folder, const Read& read) {
  if (!fs::exists(folder)) fail("{} does not exist", folder.string());
  const fs::path file = folder / "options.json";
  if (!fs::exists(file)) {
    fail<UnusableRun>("{} is not a run: it has no options.json", folder.string());
  }
  try {
    return read(ordered_json::parse(MappedFile::open(file)->text()));
  } catch (const nlohmann::json::exception& error) {
    fail<UnusableRun>("{} is damaged: {}", file.string(), error.what());
  }
}

}  // namespace

std::span<const Protocol> all_protocols() {
  static const std::vector<Protocol> all = [] {
    std::vector<Protocol> list;
    for (const ProtocolEntry& entry : protocols()) list.push_back(entry.protocol);
    return list;
  }();
  return all;
}

ordered_json options_json(const RunSpec& spec) {
  ordered_json parts = options_json(spec.train, spec.model, spec.miner);
  parts["task"] = to_json(spec.task);
  return parts;
}

void create_run(const fs::path& folder, const RunSpec& spec) {
  std::error_code unusable;  // then AtomicFolder says why
  if (fs::exists(folder, unusable)) {
    fail("{} exists already: choose another --out, or continue it with --resume", folder.string());
  }
  AtomicFolder output(folder, /*replace=*/false);
  ordered_json options = {{"version", kVersion},
                          {"data", spec.data},
                          {"data_digest", spec.data_digest},
                          {"events", spec.extent.events},
                          {"nodes", spec.extent.nodes},
                          {"threads", spec.threads}};
  options.update(options_json(spec));
  write_file(output.staging() / "options.json", options.dump(2) + "\n");
  output.commit();
}

RunSpec read_run(const fs::path& folder) {
  return read_options(folder, [](const ordered_json& options) {
    RunSpec spec{.version = options.at("version"),
                 .data = options.at("data"),
                 .data_digest = options.at("data_digest"),
                 .extent = {options.value("events", std::int64_t{0}), options.value("nodes", 0)},
                 .threads = options.value("threads", std::int64_t{0})};
    from_json(options.at("train"), spec.train);
    from_json(options.at("model"), spec.model);
    from_json(options.at("miner"), spec.miner);
    from_json(options.at("task"), spec.task);
    return spec;
  });
}

Dataset open_run_data(const RunSpec& spec, const std::string& data, bool grown) {
  const std::string& path = data.empty() ? spec.data : data;
  std::error_code unusable;
  if (data.empty() && !is_synthetic(path) && !fs::exists(path, unusable)) {
    fail("{} does not exist; --data says where the network of this run is now", path);
  }
  Dataset dataset = open_dataset(path);
  if (dataset.digest() == spec.data_digest) return dataset;
  const Extent now = dataset.extent();
  const bool may_have_grown =
      spec.extent.events > 0 && now.events > spec.extent.events && now.nodes >= spec.extent.nodes;
  if (grown && may_have_grown && dataset.head(spec.extent).digest() == spec.data_digest) {
    return dataset;
  }
  fail<UnusableRun>(
      "{} is not the network that this run was trained on: its digest is {}, and not {}{}", path,
      dataset.digest(), spec.data_digest,
      grown ? "; new events may only come after the old ones" : "");
}

Checkpoint read_checkpoint(const fs::path& folder) {
  if (!fs::exists(folder / "checkpoint")) {
    if (is_locked(folder / "options.json")) {
      fail("{} has no checkpoint yet: its first epoch is being trained", folder.string());
    }
    fail("{0} has no checkpoint yet: `curnm train --resume {0}` goes on with its training",
         folder.string());
  }
  return load_checkpoint(folder / "checkpoint");
}

std::vector<std::string> unrecorded_options(const fs::path& folder, const RunSpec& spec) {
  return read_options(folder, [&](const ordered_json& recorded) {
    std::vector<std::string> names;
    const ordered_json parts = options_json(spec);
    for (const auto& [part, options] : parts.items()) {
      for (const auto& [name, value] : options.items()) {
        if (!recorded.at(part).contains(name)) names.push_back("--" + name);
      }
    }
    return names;
  });
}

void write_metrics(const fs::path& folder, const std::vector<EpochRecord>& records) {
  std::string lines;
  for (const EpochRecord& record : records) lines += to_json(record).dump() + "\n";
  write_file_atomically(folder / "metrics.jsonl", lines);
}

ordered_json protocol_metrics(const std::vector<ProtocolScores>& scores, std::int64_t batch_size) {
  ordered_json result;
  for (const ProtocolScores& entry : scores) {
    const LinkMetrics metrics = link_metrics(entry.positives, entry.negatives, batch_size);
    result[std::string(protocols()[static_cast<std::size_t>(entry.protocol)].name)] = {
        {"ap", metrics.ap},
        {"auc", metrics.auc},
        {"ap_global", metrics.ap_global},
        {"auc_global", metrics.auc_global}};
  }
  return result;
}

ordered_json test_run(Trainer& trainer, const TestRequest& request) {
  trainer.restore_best();
  trainer.advance_to(trainer.task().split().first_test);
  const std::vector<torch::Tensor> validation_end = trainer.model().state();
  return test_scorer(trainer.task(), request, [&] {
    trainer.model().set_state(validation_end);
    return std::make_unique<LinkScorer>(trainer.scorer());
  });
}

ordered_json test_baseline(const LinkTask& task, std::string_view name,
                           const TestRequest& request) {
  return test_scorer(task, request, [&] { return make_baseline(name, task); });
}

ordered_json best_baselines(const LinkTask& task, const EvaluationSet& set,
                            std::span<const Protocol> asked) {
  const std::int64_t batch_size = task.evaluation_batch();
  ordered_json best;
  for (const BaselineEntry& entry : baselines()) {
    const std::vector<ProtocolScores> scores =
        score_protocols(*entry.make(task), set, asked, batch_size);
    const ordered_json all = protocol_metrics(scores, batch_size);
    for (const auto& [protocol, metrics] : all.items()) {
      const double ap = metrics["ap"];
      if (!best.contains(protocol) || best[protocol]["ap"] < ap) {
        best[protocol] = {{"name", entry.name}, {"ap", ap}};
      }
    }
  }
  return best;
}

}  // namespace curnm
