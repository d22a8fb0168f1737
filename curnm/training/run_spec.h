#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/base/registry.h"
#include "curnm/data/reader.h"
#include "curnm/evaluation/task.h"
#include "curnm/runs/run_folder.h"
#include "curnm/training/options.h"

namespace curnm {

class Group;
struct TrainedModel;

/// How many ranks train together, and how many of them share each batch.
struct RankNumbers {
  std::int64_t ranks = 1;
  std::int64_t batch_ranks = 1;

  bool operator==(const RankNumbers&) const = default;
};

/// What a run is made from: enough to repeat it.
struct RunSpec {
  std::string version = {};       // of the program that started it; empty before that
  std::string data = {};          // as `open_dataset` takes it
  ReadOptions read = {};          // the same
  std::string data_digest = {};   // of its contents; empty until they have been read
  Extent extent = {};             // of the data
  ColumnDigests columns = {};     // of the data, to say what differs; may be unknown
  StretchDigests stretches = {};  // the same
  /// What a warm start begins from; null for others.
  std::shared_ptr<const TrainedModel> init = nullptr;
  std::int64_t threads = 0;      // affects the last bits of the plain path; 0: unknown
  std::int64_t ranks = 1;        // that it was begun with
  std::int64_t batch_ranks = 1;  // of them share each batch
  TrainOptions train = {};
  Options model = {};
  Options decoder = {};
  Options miner = {};
  TaskOptions task = {};
};

/// A run from options given by name ("model", "epochs", "preset", ...), with defaults for the rest.
/// Throws OptionError for unknown options, invalid values, and options without effect on this run.
RunSpec resolve_run(const GivenOptions& given);

/// The same for a warm start: model and decoder with their options are those of `init`. Throws
/// OptionError where others are given.
RunSpec resolve_run(const GivenOptions& given, std::shared_ptr<const TrainedModel> init);

/// The names among `given` that would have no effect on the run: options of other models, decoders
/// and miners, and those disabled by other options. Throws as `resolve_run` for everything else.
std::vector<std::string> options_without_effect(const GivenOptions& given);

/// Fills in the options that were left open and that these facts decide. See also facts.h.
void complete(RunSpec& spec, const RunFacts& facts);

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

/// Everything besides the data that determines a run, by part: train, model, decoder, miner, task.
nlohmann::ordered_json options_json(const RunSpec& spec);

/// Takes options from such a document, for a run of the same components.
void set_options(RunSpec& spec, const nlohmann::ordered_json& parts);

/// What a result begins with, so that it stands alone: version of its schema (docs/schemas), of the
/// program, components, seed, and the data's name and digest. REQUIRES: the data has been read.
nlohmann::ordered_json identity_json(const RunSpec& spec, const std::string& data_name);

/// Creates the folder of a run. Throws Error if it exists.
void create_run(const RunFolder& folder, const RunSpec& spec);
/// What the options of a run are read for: testing its weights does not need all of them.
enum class RunUse { kContinue, kTest };
/// Throws Error for a folder that is not a run, UnusableRun for one that is damaged, or that an
/// older program started and whose record lacks a needed option: today's default need not be what
/// that program did.
///
/// With a group, rank 0 reads the folder, which need not be there for the others.
RunSpec read_run(const RunFolder& folder, RunUse use, Group* group = nullptr);
/// Opens the network of a run from `data`, or from its original location if that is empty. Throws
/// Error if it is not the run's network. With `grown`, further events may have been appended.
Dataset open_run_data(const RunSpec& spec, const std::string& data, bool grown = false);

}  // namespace curnm
