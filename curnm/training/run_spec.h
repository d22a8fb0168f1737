#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/base/registry.h"
#include "curnm/evaluation/task.h"
#include "curnm/runs/run_folder.h"
#include "curnm/training/options.h"

namespace curnm {

/// What a run is made from: enough to repeat it.
struct RunSpec {
  std::string version = {};      // of the program that began it; empty before
  std::string data = {};         // as `open_dataset` takes it
  std::string data_digest = {};  // of its contents; empty before they were looked at
  Extent extent = {};            // of the data
  std::int64_t threads = 0;      // which decide the last bits of the plain path; 0: not known
  TrainOptions train = {};
  Options model = {};
  Options decoder = {};
  Options miner = {};
  TaskOptions task = {};
};

/// A run from what was asked for by name ("model", "epochs", "preset", ...). Everything else has
/// its default. Throws OptionError for unknown options, values that cannot be, and options without
/// effect on this run.
RunSpec resolve_run(const GivenOptions& given);

/// The names among `given` that would have no effect on the run: options of other models, decoders
/// and miners, and those that others switch off. Throws as `resolve_run` for everything else.
std::vector<std::string> options_without_effect(const GivenOptions& given);

/// Fills in what depends on the training events.
void complete(RunSpec& spec, const EventLog& train);

/// An option of some run, for help texts: its field, the defaults by component ("0.2 for tgn, 0.1
/// for jodie") and its choices.
struct OptionHelp {
  Field field;
  std::string part;  // train, model, decoder, miner or task
  std::string defaults;
  std::vector<std::string> choices;
};
/// All options of runs, each once, by part. `preset` is not among them.
std::vector<OptionHelp> run_options();

/// What decides the course of a run, besides the data, by parts: train, model, decoder, miner,
/// task.
nlohmann::ordered_json options_json(const RunSpec& spec);

/// Makes the folder of a run. Throws Error when it exists.
void create_run(const RunFolder& folder, const RunSpec& spec);
/// What the options of a run are read for: to test its weights, not all are needed.
enum class RunUse { kContinue, kTest };
/// Throws Error for a folder that is no run, UnusableRun for one that is damaged, or whose record
/// lacks an option that is needed, because an older program began it: what an option would be now
/// is not what a program without it did.
RunSpec read_run(const RunFolder& folder, RunUse use);
/// The network of a run, from where it is now: `data`, or where the run found it if that is empty.
/// Throws Error for another network than the run's. With `grown`, one that has more events since,
/// after those that the run knows, is the same one.
Dataset open_run_data(const RunSpec& spec, const std::string& data, bool grown = false);

}  // namespace curnm
