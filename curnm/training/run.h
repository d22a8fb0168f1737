#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "curnm/evaluation/evaluate.h"
#include "curnm/training/trainer.h"

namespace curnm {

/// What was asked for: enough to repeat a run.
struct RunSpec {
  std::string data;  // as `open_dataset` takes it
  TrainOptions train;
  ModelOptions model;
  TaskOptions task;
};

// A run is a folder:
//   options.json   the RunSpec with every resolved option, the data set's digest, the version
//   metrics.jsonl  one line per epoch
//   checkpoint     where to go on
//   result.json    the test, once the training is over

/// Throws Error when the folder exists.
void create_run(const std::filesystem::path& folder, const RunSpec& spec,
                const std::string& data_digest);
/// Throws Error for a folder that is no run, or whose options are damaged.
RunSpec read_run(const std::filesystem::path& folder);
void write_metrics(const std::filesystem::path& folder, const std::vector<EpochRecord>& records);

/// AP and AUC of every protocol: {"random": {"ap": ..., "auc": ..., "ap_global": ..., ...}, ...}.
nlohmann::ordered_json protocol_metrics(const std::vector<ProtocolScores>& scores,
                                        std::int64_t batch_size);

/// Every row that was scored: protocol, position, score of the positive and of its negative.
using ScoreSink = std::function<void(std::string_view set, const EvaluationSet& evaluated,
                                     const std::vector<ProtocolScores>& scores)>;

/// The best weights on the test events and on the new-node test events, each from the state at the
/// end of validation: {"test": {...}, "test_new": {...}}. `mrr_negatives` > 0 adds "mrr".
nlohmann::ordered_json test_run(Trainer& trainer, std::int64_t mrr_negatives,
                                const ScoreSink& sink = {});

/// The same for a scorer without parameters.
nlohmann::ordered_json test_baseline(const LinkTask& task, std::string_view name,
                                     std::int64_t mrr_negatives, const ScoreSink& sink = {});

/// The best baseline of each protocol: {"random": {"name": ..., "ap": ...}, ...}.
nlohmann::ordered_json best_baselines(const LinkTask& task);

}  // namespace curnm
