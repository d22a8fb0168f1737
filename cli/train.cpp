#include "cli/train.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numbers>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/miner_flags.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "cli/test_table.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/files.h"
#include "curnm/base/parallel.h"
#include "curnm/base/version.h"
#include "curnm/data/open.h"
#include "curnm/nn/time_encoding.h"
#include "curnm/training/run.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct TrainFlags {
  RunSpec spec;
  std::string out;
  std::string resume;
  std::string moved_data;  // of a run that is resumed
  std::int64_t threads = 0;
  std::int64_t until_epoch = 0;  // 0: to the end
  double checkpoint_seconds = 30;
  bool json = false;
};

/// Progress on stderr (a bar where a person is watching, a line per epoch elsewhere), metrics and
/// checkpoints in the run's folder.
class RunObserver final : public TrainObserver {
 public:
  RunObserver(const Trainer& trainer, fs::path folder, const TrainFlags& flags)
      : trainer_(trainer),
        folder_(std::move(folder)),
        checkpoint_seconds_(flags.checkpoint_seconds),
        until_epoch_(flags.until_epoch) {}

  bool stop_requested() override { return received_signal() != 0 || paused(); }
  /// As many epochs as were asked for are over.
  bool paused() const { return until_epoch_ > 0 && std::ssize(trainer_.records()) >= until_epoch_; }

  void on_batch(std::int64_t epoch, std::int64_t done, std::int64_t of) override {
    if (done == 1) {  // the clock starts with the second batch: there is no rate yet
      epoch_watch_ = Stopwatch();
      next_draw_ = 0;
      return;
    }
    if (!on_terminal_ || epoch_watch_.seconds() < next_draw_) return;
    next_draw_ = epoch_watch_.seconds() + 0.1;
    const double rate = static_cast<double>(done - 1) / std::max(epoch_watch_.seconds(), 1e-3);
    constexpr std::int64_t kWidth = 24;
    const auto full = static_cast<std::size_t>(kWidth * done / of);
    say("\repoch {:>3} [{}{}] {:.0f} batches/s, {:.0f} s left   ", epoch, std::string(full, '#'),
        std::string(kWidth - full, '.'), rate, static_cast<double>(of - done) / rate);
  }

  void on_epoch(const EpochRecord& record) override {
    std::string losses;
    for (const auto& [name, value] : record.losses)
      losses += fmt::format(" {} {:.4f}", name, value);
    say("{}epoch {:>3}  validation AP {:.4f}{} {}  {:.1f} s{}\n", on_terminal_ ? "\r" : "",
        record.epoch, record.validation_ap, record.best ? "*" : " ", losses, record.seconds,
        on_terminal_ ? "\x1b[K" : "");
    write_metrics(folder_, trainer_.records());
    if (!saved_ || since_checkpoint_.seconds() >= checkpoint_seconds_) save();
  }

  void on_note(const std::string& note) override { say("note: {}\n", note); }

  void save() {
    save_checkpoint(trainer_.checkpoint(), folder_ / "checkpoint");
    saved_ = true;
    since_checkpoint_ = Stopwatch();
  }

 private:
  const Trainer& trainer_;
  fs::path folder_;
  double checkpoint_seconds_;
  std::int64_t until_epoch_;
  bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
  Stopwatch epoch_watch_;
  bool saved_ = false;  // in this session: the first epoch always is, whatever becomes of the next
  Stopwatch since_checkpoint_;
  double next_draw_ = 0;
};

void print_options(const std::string& part, const ordered_json& options) {
  say("{:<6}", part);
  for (const auto& [name, value] : options.items()) {
    say(" {} {}", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  say("\n");
}

/// What a reader of the results should know about the data.
std::vector<std::string> notes_on(const LinkTask& task, const ordered_json& model) {
  std::vector<std::string> notes;
  constexpr double kQuickestTurn = 2 * std::numbers::pi / CosineTimeEncoding::kHighest;
  constexpr double kSlowestTurn = 2 * std::numbers::pi / CosineTimeEncoding::kLowest;
  const double span = task.log().time.back() - task.log().time.front();
  const bool fixed = model.value("time-encoding", "") == "fixed";
  if (fixed && span > kSlowestTurn) {
    notes.push_back(
        fmt::format("times span {:.2g} units, and the fixed time encoding tells gaps apart up to "
                    "{:.2g}: give them in seconds, or another unit that long",
                    span, kSlowestTurn));
  }
  if (fixed && span < 10 * kQuickestTurn) {
    notes.push_back(fmt::format(
        "times span {:.3g} units, and the quickest turn of the fixed time encoding takes "
        "{:.2g}: give them in a shorter unit, or try --time-encoding learned",
        span, kQuickestTurn));
  }
  if (task.new_test() == nullptr && !task.split().new_test.empty()) {
    notes.push_back(
        "the test events with new nodes have one destination: without a negative they are not "
        "scored");
  }
  for (const ProtocolEntry& entry : protocols()) {
    const std::int64_t rows =
        task.test().negatives[static_cast<std::size_t>(entry.protocol)].unavoidable;
    if (rows == 0) continue;
    notes.push_back(
        fmt::format("{} {} negatives of the test are events at their time: their source meets "
                    "every destination",
                    grouped(rows), entry.name));
  }
  return notes;
}

void print_setup(const RunSpec& spec, const LinkTask& task, const std::string& folder) {
  say("{} on {}: {} training, {} validation, {} test events ({} with new nodes)\n",
      spec.train.model, task.dataset().name, grouped(task.train().size()),
      grouped(task.validation().positives.size()), grouped(task.test().positives.size()),
      grouped(std::ssize(task.split().new_test)));
  const ordered_json parts = options_json(spec);
  for (const auto& [part, options] : parts.items()) print_options(part, options);
  say("curnm {}, data {}, run folder {}\n", kVersion, task.data_digest().substr(0, 12), folder);
  for (const std::string& note : notes_on(task, parts["model"])) {
    say("note: {}\n", note);
  }
}

ordered_json finish(Trainer& trainer, const fs::path& folder) {
  double seconds = 0;
  for (const EpochRecord& record : trainer.records()) seconds += record.training_seconds();
  ordered_json result = test_run(trainer);
  const LinkTask& task = trainer.task();
  result["best_baseline"] = best_baselines(task, task.test());
  result["best_baseline_new"] =
      task.new_test() == nullptr ? ordered_json() : best_baselines(task, *task.new_test());
  result["epochs"] = trainer.records().size();
  result["best_epoch"] = trainer.best_epoch();
  result["seconds_per_epoch"] = seconds / static_cast<double>(trainer.records().size());
  result["training_events"] = task.train().size();
  result["environment"] = to_json(this_machine());
  write_file_atomically(folder / "result.json", result.dump(2) + "\n");
  return result;
}

/// A resumed run is what it was started as: other options than those of this session are refused.
void check_flags(const TrainFlags& flags, const CLI::App& command) {
  if (flags.spec.data.empty() == flags.resume.empty()) {
    throw UsageError("give either DATA or --resume RUN");
  }
  if (flags.resume.empty()) {
    refuse_flags(command, {"--data"}, "a new run: it is for those that are resumed");
    const ModelEntry& model = find_entry("model", models(), flags.spec.train.model);
    refuse_unused<ModelOptions>(command, model.name, model.options);
    if (flags.spec.task.split == "roll") refuse_flags(command, kOfTimeSplits, "--split roll");
    return check_miner_flags(command, flags.spec.train.miner);
  }
  constexpr std::array<std::string_view, 4> kOfTheSession = {"threads", "until-epoch",
                                                             "checkpoint-seconds", "json"};
  const auto refuse = [&]<class Options>(const Options&) {
    refuse_unused<Options>(command, "a run that is resumed", kOfTheSession);
  };
  refuse(flags.spec.train);
  refuse(flags.spec.model);
  refuse(flags.spec.miner);
  refuse(flags.spec.task);
  refuse_flags(command, {"--out", "--preset"}, "a run that is resumed");
}

/// What an option would be now is not what an older program without it did.
void refuse_older(const std::string& folder, const RunSpec& spec) {
  const std::vector<std::string> names = unrecorded_options(folder, spec);
  if (names.empty()) return;
  fail<UnusableRun>(
      "{} was begun by an older program without {}: it cannot go on as it began, only be tested",
      folder, fmt::join(names, ", "));
}

/// A training and what it is about.
struct Session {
  Session(const RunSpec& of, Dataset dataset)
      : spec(of), task(std::move(dataset), of.task), trainer(task, of.train, of.model, of.miner) {
    spec.model = trainer.model_options();
    spec.miner = trainer.miner_options();
    spec.data_digest = task.data_digest();
    spec.extent = task.dataset().extent();
  }

  RunSpec spec;
  LinkTask task;
  Trainer trainer;
};

std::unique_ptr<Session> new_session(const TrainFlags& flags) {
  RunSpec spec = flags.spec;
  spec.data = from_anywhere(spec.data);
  set_threads(flags.threads);
  spec.threads = num_threads();
  Dataset dataset = open_dataset(spec.data);
  print_notes(dataset);
  auto session = std::make_unique<Session>(spec, std::move(dataset));
  create_run(flags.out, session->spec);
  return session;
}

/// Of a run that was begun before, still at its beginning.
std::unique_ptr<Session> old_session(const TrainFlags& flags) {
  const std::string& folder = flags.resume;
  RunSpec spec = read_run(folder);
  set_threads(flags.threads == 0 ? spec.threads : flags.threads);
  spec.threads = num_threads();
  Dataset dataset = open_run_data(spec, flags.moved_data);
  print_notes(dataset);
  auto session = std::make_unique<Session>(spec, std::move(dataset));
  refuse_older(folder, session->spec);
  if (spec.version != kVersion) {
    say("note: {} was begun by curnm {}, and this is {}: it may not go on to the same bits\n",
        folder, spec.version, kVersion);
  }
  return session;
}

int run_train(const TrainFlags& flags) {
  watch_signals();
  const bool resuming = !flags.resume.empty();
  const std::string folder = resuming ? flags.resume : flags.out;
  const std::unique_ptr<Session> session = resuming ? old_session(flags) : new_session(flags);
  Trainer& trainer = session->trainer;
  const FileLock alone(fs::path(folder) / "options.json", "training " + folder);
  if (resuming && fs::exists(fs::path(folder) / "checkpoint")) {
    trainer.resume(read_checkpoint(folder));
    write_metrics(folder, trainer.records());  // a folder that cannot be written shows it now
  }
  print_setup(session->spec, session->task, folder);

  RunObserver observer(trainer, folder, flags);
  const TrainOutcome outcome = trainer.run(observer);
  observer.save();
  if (outcome == TrainOutcome::kInterrupted || received_signal() != 0) {
    say("\nstopped; continue with: curnm train --resume {}\n", folder);
    if (flags.json) {
      const ordered_json state = {{"state", "paused"},
                                  {"run", folder},
                                  {"epochs", trainer.records().size()},
                                  {"best_epoch", trainer.best_epoch()}};
      fmt::print("{}\n", state.dump(2));
    }
    return received_signal() == 0 ? 0 : 128 + received_signal();
  }
  const ordered_json result = finish(trainer, folder);
  if (flags.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    print_results(result);
    fmt::print("best epoch {} of {}; details in {}/result.json and metrics.jsonl\n",
               result["best_epoch"].get<int>(), result["epochs"].get<int>(), folder);
  }
  return 0;
}

void declare_flags(CLI::App& command, TrainFlags& flags) {
  command.add_option("DATA", flags.spec.data,
                     "imported folder, raw network, or synthetic[:preset]");
  command.add_option("--out", flags.out, "folder of the run (default: runs/MODEL-MINER-DATA-SEED)");
  command.add_option("--resume", flags.resume, "folder of a run to continue");
  command.add_option("--data", flags.moved_data, "where the network of that run is now");
  add_fields(command, flags.spec.train);
  add_fields(command, flags.spec.model);
  add_miner_flags(command, flags.spec.miner);
  add_fields(command, flags.spec.task);
  command.add_option("--threads", flags.threads, "0: all cores, or as many as the run began with");
  command
      .add_option("--until-epoch", flags.until_epoch,
                  "pause after that many epochs, to be resumed later; 0: to the end")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000000000}));
  command
      .add_option("--checkpoint-seconds", flags.checkpoint_seconds,
                  "least time between checkpoints")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command.add_flag("--json", flags.json, "the result as one JSON document");
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app.add_subcommand("train", "Train a model, and test it");
  declare_flags(*command, *flags);
  command->callback([flags, command, &exit_code] {
    check_flags(*flags, *command);
    refuse_idle_flags(*command, flags->spec.miner.curnm);
    if (flags->out.empty()) {
      flags->out = fmt::format("runs/{}-{}-{}-{}", flags->spec.train.model, flags->spec.train.miner,
                               last_name(flags->spec.data), flags->spec.train.seed);
    }
    exit_code = run_train(*flags);
  });
}

namespace {

/// What `curnm train` would do for a job. Throws UsageError for flags that it would refuse.
RunSpec checked_run(const Job& job) {
  TrainFlags flags;
  CLI::App command;
  declare_flags(command, flags);
  std::vector<std::string> words = {job.network, "--model=" + job.model, "--miner=" + job.miner,
                                    fmt::format("--seed={}", job.seed)};
  for (const auto& [name, value] : job.flags) words.push_back(fmt::format("--{}={}", name, value));
  std::ranges::reverse(words);  // CLI11 takes them from the back
  try {
    command.parse(words);
    RunSpec& spec = flags.spec;
    check_flags(flags, command);
    check_ranges(spec.train);
    check_ranges(spec.task);
    // What depends on the data stays open.
    spec.model = resolved(spec.train.model, spec.model, {.snapshot_length = 0});
    spec.miner = resolved(spec.train.miner, spec.miner, spec.train.epochs);
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("{}: {}", job.title(), error.what()));
  }
  return flags.spec;
}

/// Leaves out flags of other models and miners than the job's, but for its own: these are refused.
void leave_out_foreign(Job& job, const RunFlags& own) {
  const ModelEntry& model = find_entry("model", models(), job.model);
  const MinerEntry& miner = find_entry("miner", miners(), job.miner);
  const auto has = [](const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != std::ranges::end(names);
  };
  std::erase_if(job.flags, [&](const auto& flag) {
    const std::string& name = flag.first;
    if (own.contains(name)) return false;
    if (name == "preset") return job.miner != "curnm";
    return (has(option_names<ModelOptions>(), name) && !has(model.options, name)) ||
           (has(option_names<MinerOptions>(), name) && !has(miner.options(), name));
  });
}

}  // namespace

void settle(Job& job, const RunFlags& own) {
  leave_out_foreign(job, own);
  RunSpec spec = checked_run(job);
  std::size_t left_out = 0;
  for (const IdleFlags& idle : idle_flags(spec.miner.curnm)) {
    for (const std::string_view flag : idle.flags) {
      const std::string name(flag.substr(2));
      if (own.contains(name)) fail("{}: {} has no effect on {}", job.title(), flag, idle.of);
      left_out += job.flags.erase(name);
    }
  }
  if (left_out > 0) spec = checked_run(job);
  job.options = options_json(spec).dump();
}

std::vector<std::string_view> flags_of_runs() {
  std::vector<std::string_view> names = {"preset"};
  const auto add = [&](const OptionNames& more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  add(option_names<TrainOptions>());
  add(option_names<ModelOptions>());
  add(option_names<MinerOptions>());
  add(option_names<TaskOptions>());
  std::erase_if(names, [](std::string_view name) {
    return name == "model" || name == "miner" || name == "seed";
  });
  return names;
}

}  // namespace curnm::cli
