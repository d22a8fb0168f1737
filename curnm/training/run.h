#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "curnm/evaluation/evaluate.h"
#include "curnm/training/trainer.h"

namespace curnm {

/// What a run is made from: enough to repeat it.
struct RunSpec {
  std::string version = {};      // of the program that began it; empty before
  std::string data;              // as `open_dataset` takes it
  std::string data_digest = {};  // of its contents; empty before they were looked at
  Extent extent = {};            // of the data; of a run of an older program not known: 0 events
  std::int64_t threads = 0;      // which decide the last bits of the plain path; 0: not known
  TrainOptions train;
  ModelOptions model;
  MinerOptions miner;
  TaskOptions task;
};

// A run is a folder:
//   options.json   the RunSpec with every resolved option, the data set's digest, the version
//   metrics.jsonl  one line per epoch
//   checkpoint     where to go on
//   result.json    the test, once the training is over

/// What decides the course of a run, besides the data: the parts of a training's `options_json`,
/// and a further one: task.
nlohmann::ordered_json options_json(const RunSpec& spec);

/// Throws Error when the folder exists.
void create_run(const std::filesystem::path& folder, const RunSpec& spec);
/// Throws Error for a folder that is no run, or whose options are damaged.
RunSpec read_run(const std::filesystem::path& folder);
/// The network of a run, from where it is now: `data`, or where the run found it if that is empty.
/// Throws Error for another network than the run's. With `grown`, one that has more events since,
/// after those that the run knows, is the same one.
Dataset open_run_data(const RunSpec& spec, const std::string& data, bool grown = false);
/// Throws Error for a run that was stopped before its first checkpoint.
Checkpoint read_checkpoint(const std::filesystem::path& folder);
/// Options of `spec` that the record of the run lacks, because an older program began it.
std::vector<std::string> unrecorded_options(const std::filesystem::path& folder,
                                            const RunSpec& spec);
void write_metrics(const std::filesystem::path& folder, const std::vector<EpochRecord>& records);

/// AP and AUC of every protocol: {"random": {"ap": ..., "auc": ..., "ap_global": ..., ...}, ...}.
nlohmann::ordered_json protocol_metrics(const std::vector<ProtocolScores>& scores,
                                        std::int64_t batch_size);

std::span<const Protocol> all_protocols();

/// Every row that was scored: protocol, position, score of the positive and of its negative.
using ScoreSink = std::function<void(std::string_view set, const EvaluationSet& evaluated,
                                     const std::vector<ProtocolScores>& scores)>;

struct TestRequest {
  std::span<const Protocol> protocols = all_protocols();
  std::int64_t mrr_negatives = 0;  // 0: no mean reciprocal rank
  ScoreSink sink = {};
};

/// The best weights on the test events and on the new-node test events, each from the state at the
/// end of validation: {"test": {...}, "test_new": {...}}, with "mrr" in them where asked for.
nlohmann::ordered_json test_run(Trainer& trainer, const TestRequest& request = {});

/// The same for a scorer without parameters.
nlohmann::ordered_json test_baseline(const LinkTask& task, std::string_view name,
                                     const TestRequest& request = {});

/// The best baseline of each protocol on the events of a set: {"random": {"name": ..., "ap": ...},
/// ...}.
nlohmann::ordered_json best_baselines(const LinkTask& task, const EvaluationSet& set,
                                      std::span<const Protocol> asked = all_protocols());

}  // namespace curnm
