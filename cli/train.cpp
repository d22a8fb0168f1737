#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numbers>
#include <optional>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "cli/ranks.h"
#include "cli/signals.h"
#include "cli/test_table.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/files.h"
#include "curnm/base/interrupt.h"
#include "curnm/base/parallel.h"
#include "curnm/base/version.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/measured.h"
#include "curnm/evaluation/task_features.h"
#include "curnm/experiments/option_file.h"
#include "curnm/nn/time_frequencies.h"
#include "curnm/runs/tensorboard.h"
#include "curnm/training/session.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct TrainFlags {
  GivenOptions given;
  GivenOptions read;
  std::string data;
  std::string out;
  std::string resume;
  std::string init;        // model to begin from
  std::string moved_data;  // for a resumed run
  std::string config;      // file of options
  std::string log_dir;     // of TensorBoard; empty: none
  std::int64_t threads = 0;
  std::int64_t until_epoch = 0;  // 0: to the end
  double checkpoint_seconds = 30;
  bool json = false;
  RankFlags ranks;
};

/// A number for each question, in their order: "0.912/-/0.940". Empty if there is none.
template <class Find>
std::string by_question(const std::map<std::string, double>& values, int digits, const Find& key) {
  std::vector<std::string> parts;
  bool any = false;
  for (const Question question : kQuestions) {
    const auto found = values.find(key(question));
    any = any || found != values.end();
    parts.push_back(found == values.end() ? "-" : fmt::format("{:.{}f}", found->second, digits));
  }
  return any ? fmt::format("{}", fmt::join(parts, "/")) : "";
}

/// Validation AP by question, the losses of an epoch and, with a curriculum, its difficulty: one
/// line of a terminal.
std::string epoch_text(const EpochRecord& record) {
  std::string text;
  if (record.validation.size() > 1) {
    text = fmt::format(" ({})", by_question(record.validation, 3, [](Question question) {
                         return std::string(name_of(protocol_of(question)));
                       }));
  }
  text += " ";
  for (const auto& [name, value] : record.losses) text += fmt::format(" {} {:.4f}", name, value);
  for (const char* name : {"share", "pi"}) {
    const std::string values = by_question(record.mining, 2, [&](Question question) {
      return fmt::format("{}_{}", name, name_of(question));
    });
    if (!values.empty()) text += fmt::format("  {} {}", name, values);
  }
  const auto measure = [&](const char* name, const char* label) {
    const auto found = record.mining.find(name);
    if (found != record.mining.end()) text += fmt::format("  {} {:.2f}", label, found->second);
  };
  measure("pi", "pi");
  measure("delta", "delta");
  measure("selected_hard", "hard");
  return text;
}

/// Signals stop what goes on; notes are printed.
class SignalObserver : public TrainObserver {
 public:
  bool stop_requested() override { return received_signal() != 0; }
  void on_note(const std::string& note) override { say("note: {}\n", note); }
};

/// Progress on stderr (a bar on a terminal, otherwise a line per epoch), metrics and checkpoints in
/// the run's folder, and scalars for TensorBoard.
class RunObserver final : public SignalObserver {
 public:
  RunObserver(const TrainingSession& session, RunFolder folder, const TrainFlags& flags)
      : session_(session),
        folder_(std::move(folder)),
        checkpoint_seconds_(flags.checkpoint_seconds),
        until_epoch_(flags.until_epoch) {
    if (!flags.log_dir.empty() && session.is_first())
      scalars_.emplace(flags.log_dir, std::ssize(session.records()));
  }

  bool stop_requested() override { return SignalObserver::stop_requested() || paused(); }
  /// --until-epoch has been reached.
  bool paused() const { return until_epoch_ > 0 && std::ssize(session_.records()) >= until_epoch_; }

  void on_batch(std::int64_t epoch, std::int64_t done, std::int64_t of) override {
    if (done == 1) {  // timing starts with the second batch: no rate yet
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
    say("{}epoch {:>3}  validation {} {:.4f}{}{}  {:.1f} s{}\n", on_terminal_ ? "\r" : "",
        record.epoch, record.selected_by(), record.selected(), record.best ? "*" : " ",
        epoch_text(record), record.seconds, on_terminal_ ? "\x1b[K" : "");
    if (session_.is_first()) folder_.write_metrics(session_.records());
    if (scalars_) scalars_->add(record);
    const bool due = !saved_ || since_checkpoint_.seconds() >= checkpoint_seconds_;
    if (session_.as_first_says(due)) save();
  }

  /// Adds the test's figures to the scalars.
  void on_result(const ordered_json& result) {
    if (!scalars_) return;
    std::map<std::string, double> figures;
    for (const char* part : {"test", "test_new"}) {
      if (!result.contains(part)) continue;
      for (const auto& [name, scores] : result[part].items()) {
        const char* figure = name == "mrr" ? "mrr" : "ap";
        if (scores.contains(figure) && scores[figure].is_number()) {
          figures[fmt::format("{}/{}", part, name)] = scores[figure].get<double>();
        }
      }
    }
    scalars_->add(session_.best_epoch(), figures);
  }

  void save() {
    session_.save_checkpoint(folder_);
    saved_ = true;
    since_checkpoint_ = Stopwatch();
  }

 private:
  const TrainingSession& session_;
  RunFolder folder_;
  double checkpoint_seconds_;
  std::int64_t until_epoch_;
  std::optional<TensorBoardLog> scalars_;
  bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
  Stopwatch epoch_watch_;
  bool saved_ = false;  // by this process: the first epoch is always saved
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
std::vector<std::string> notes_on(const LinkTask& task, const ordered_json& model,
                                  FeatureInput features) {
  std::vector<std::string> notes;
  if (features == FeatureInput::kStandardised) notes = notes_on_features(task);
  constexpr double kQuickestTurn = 2 * std::numbers::pi / kHighestTimeFrequency;
  constexpr double kSlowestTurn = 2 * std::numbers::pi / kLowestTimeFrequency;
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
  std::ranges::move(notes_on_negatives(task, all_protocols(), /*validation=*/true),
                    std::back_inserter(notes));
  for (const ProtocolEntry& entry : protocols()) {
    const std::int64_t rows =
        task.test().negatives[static_cast<std::size_t>(entry.protocol)].unavoidable;
    if (rows == 0 || !task.test().measures(entry.protocol)) continue;
    notes.push_back(
        fmt::format("{} {} negatives of the test are events at their time: their source meets "
                    "every destination",
                    grouped(rows), entry.name));
  }
  return notes;
}

void print_setup(const TrainingSession& session, const std::string& folder) {
  const RunSpec& spec = session.spec();
  const LinkTask& task = session.task();
  say("{} on {}: {} training, {} validation, {} test events ({} with new nodes)\n",
      spec.train.model, task.dataset().name, grouped(task.train().size()),
      grouped(task.validation().positives.size()), grouped(task.test().positives.size()),
      grouped(std::ssize(task.split().new_test)));
  const ordered_json parts = options_json(spec);
  for (const auto& [part, options] : parts.items()) print_options(part, options);
  say("curnm {}, data {}, run folder {}\n", kVersion, task.data_digest().substr(0, 12), folder);
  for (const std::string& note : notes_on(task, parts["model"], spec.train.features)) {
    say("note: {}\n", note);
  }
  const std::vector<Protocol> validated = protocols_of(spec.train.goal, spec.train.select_on);
  if (measured(task.validation(), validated).size() > 1) {
    say("in parentheses: validation AP of the questions {}\n",
        fmt::join(choice_names(Question{}), "/"));
  }
}

/// `together`: ranks that have divided the test among them.
ordered_json finish(TrainingSession& session, const RunFolder& folder, Group* together) {
  ordered_json result = session.result();
  if (together != nullptr) together->leave();
  result["environment"] = to_json(this_machine());
  save_model(session.trained_model(), folder.model());
  folder.write_result(result);
  return result;
}

/// Takes what the file of options says and the command line does not.
void take_config(TrainFlags& flags) {
  const std::vector<OptionHelp> of_runs = run_options();
  ReadOptions defaults;
  const std::vector<std::string_view> of_tables = option_names(defaults);
  std::vector<std::string_view> known = {"data", "out", "preset"};
  for (const OptionHelp& option : of_runs) known.push_back(option.field.name);
  known.insert(known.end(), of_tables.begin(), of_tables.end());
  for (const auto& [name, value] : read_option_file(flags.config, known)) {
    if (name == "data" || name == "out") {
      std::string& flag = name == "data" ? flags.data : flags.out;
      if (flag.empty()) flag = value;
    } else {
      const bool of_table = std::ranges::find(of_tables, name) != of_tables.end();
      (of_table ? flags.read : flags.given).try_emplace(name, value);
    }
  }
}

/// A resumed run keeps its options: only flags about this process (threads, output) are allowed.
void check_flags(const TrainFlags& flags, const CLI::App& command) {
  if (flags.data.empty() == flags.resume.empty()) {
    throw UsageError("give either DATA or --resume RUN");
  }
  if (!flags.resume.empty()) refuse_flags(command, {"--init"}, "a run that is resumed");
  if (flags.resume.empty()) {
    if (!flags.moved_data.empty()) {
      throw UsageError("--data has no effect on a new run: it is for those that are resumed");
    }
    return;
  }
  GivenOptions fixed = flags.given;
  fixed.erase("epochs");  // extends the run
  if (const GivenOptions& given = fixed.empty() ? flags.read : fixed; !given.empty()) {
    const std::string& name = given.begin()->first;
    throw OptionError(OptionError::Kind::kNoEffect, name,
                      fmt::format("--{} has no effect on a run that is resumed", name));
  }
  refuse_flags(command, {"--out", "--config"}, "a run that is resumed");
}

/// The model of a finished run, or of a file.
std::shared_ptr<const TrainedModel> open_init(const std::string& path) {
  const RunFolder folder(path);
  if (folder.is_run() && !fs::exists(folder.model())) {
    fail("{} is not finished: a warm start needs its model", path);
  }
  return std::make_shared<const TrainedModel>(
      load_model(folder.is_run() ? folder.model() : fs::path(path)));
}

std::int64_t size_of(const Group* group) { return group == nullptr ? 1 : group->size(); }

TrainingSession new_session(const TrainFlags& flags, RunSpec spec, Group* group) {
  spec.batch_ranks = batch_ranks_of(flags.ranks, size_of(group), /*recorded=*/{});
  if (group == nullptr || group->rank() == 0) RunFolder(flags.out).check_new();
  spec.data = from_anywhere(flags.data);
  spec.read = read_options(flags.read);
  set_threads(flags.threads);
  spec.threads = num_threads();
  Dataset dataset = open_dataset(spec.data, spec.read);
  print_notes(dataset);
  SignalObserver observer;
  TrainingSession session(std::move(spec), std::move(dataset), observer, group);
  const TrainOptions& train = session.spec().train;
  check_goal(session.task().validation(), train.goal, train.select_on);  // before there is a folder
  if (session.is_first()) create_run(RunFolder(flags.out), session.spec());
  return session;
}

/// Lets a run go on to more epochs than it was begun with. Rank 0 records it.
void extend(const RunFolder& folder, const std::string& epochs, const Group* group, RunSpec& spec) {
  const std::int64_t before = spec.train.epochs;
  set_given({{"epochs", epochs}}, spec.train);
  check_ranges(spec.train);
  if (spec.train.epochs == before) return;
  if (spec.train.epochs < before) {
    throw OptionError(OptionError::Kind::kValue, "epochs",
                      fmt::format("--epochs {}: {} has {} epochs, and can only be given more",
                                  epochs, folder.path().string(), before));
  }
  if (group != nullptr && group->rank() > 0) return;
  const FileLock lock(folder.options(), "training " + folder.path().string());
  folder.extend(spec.train.epochs);
  const ordered_json miner = options_json(spec)["miner"];
  if (spec.train.miner == "ens" || miner.contains("alpha-epochs")) {
    say("note: schedules of {} that were set by {} epochs go on as they were; a run that begins "
        "with {} has slower ones\n",
        spec.train.miner, before, spec.train.epochs);
  }
}

/// A session for an existing run, before its checkpoint is loaded.
TrainingSession resumed_session(const TrainFlags& flags, Group* group) {
  const RunFolder folder(flags.resume);
  RunSpec spec = read_run(folder, RunUse::kContinue, group);
  spec.batch_ranks = batch_ranks_of(flags.ranks, size_of(group), {spec.ranks, spec.batch_ranks});
  if (flags.given.contains("epochs")) extend(folder, flags.given.at("epochs"), group, spec);
  set_threads(flags.threads == 0 ? spec.threads : flags.threads);
  spec.threads = num_threads();
  Dataset dataset = open_run_data(spec, flags.moved_data);
  print_notes(dataset);
  if (spec.version != kVersion) {
    say("note: {} was begun by curnm {}, and this is {}: it may not go on to the same bits\n",
        flags.resume, spec.version, kVersion);
  }
  SignalObserver observer;
  return {std::move(spec), std::move(dataset), observer, group};
}

/// A signal during the test, before which everything has been saved.
class StoppedInTest : public Error {
 public:
  StoppedInTest() : Error("stopped by a signal during the test") {}
};

int say_stopped(const TrainingSession& session, const RunFolder& folder, bool json) {
  say("\nstopped; continue with: curnm train --resume {}\n", folder.path().string());
  if (json) {
    const ordered_json state = {{"state", "paused"},
                                {"run", folder.path()},
                                {"epochs", session.records().size()},
                                {"best_epoch", session.best_epoch()}};
    fmt::print("{}\n", state.dump(2));
  }
  return received_signal() == 0 ? 0 : 128 + received_signal();
}

int run_train(const TrainFlags& flags, RunSpec spec, Group* group) {
  watch_signals();
  const bool resuming = !flags.resume.empty();
  const RunFolder folder(resuming ? flags.resume : flags.out);
  TrainingSession session =
      resuming ? resumed_session(flags, group) : new_session(flags, std::move(spec), group);
  std::optional<FileLock> lock;
  if (session.is_first()) lock.emplace(folder.options(), "training " + folder.path().string());
  RunObserver observer(session, folder, flags);
  if (session.as_first_says(resuming && fs::exists(folder.checkpoint()))) {
    session.resume(folder, observer);
    // Fails now if the folder is not writable.
    if (session.is_first()) folder.write_metrics(session.records());
  }
  print_setup(session, folder.path());

  const bool finished = session.train(observer);
  observer.save();
  const bool complete = finished && received_signal() == 0;
  Group* together = session.test_together(complete) ? group : nullptr;
  if (group != nullptr && together == nullptr) group->leave();
  if (complete) {
    interrupt_check = [] {
      if (received_signal() != 0) throw StoppedInTest();
    };
  }
  if (!session.is_first()) {
    if (together != nullptr) {
      session.result();  // of which rank 0 makes more
      together->leave();
    }
    return received_signal() == 0 ? 0 : 128 + received_signal();
  }
  if (!complete) return say_stopped(session, folder, flags.json);
  ordered_json result;
  try {
    result = finish(session, folder, together);
  } catch (const StoppedInTest& error) {
    if (together != nullptr) together->abort(error.what());
    return say_stopped(session, folder, flags.json);
  }
  observer.on_result(result);
  say_if_few(session.task());
  if (flags.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    print_results(result);
    fmt::print("{}\n", standing(result, session.spec()));
    fmt::print("best epoch {} of {}; details in {}/result.json and metrics.jsonl\n",
               result["best_epoch"].get<int>(), result["epochs"].get<int>(),
               folder.path().string());
  }
  return 0;
}

/// The same for one of several ranks, if a launcher has started this process as such.
int run_rank(const TrainFlags& flags, RunSpec spec) {
  const std::unique_ptr<Group> group = join_ranks(flags.ranks);
  try {
    return run_train(flags, std::move(spec), group.get());
  } catch (const RankFailed& error) {
    const std::string& folder = flags.resume.empty() ? flags.out : flags.resume;
    fail("{}\nThe last checkpoint is unharmed; go on with: curnm train --resume {} --ranks {}",
         error.what(), folder, group->size());
  } catch (const std::exception& error) {
    if (group) group->abort(error.what());
    throw;
  }
}

/// Starts ranks on this host.
int start_ranks(const TrainFlags& flags, std::int64_t ranks) {
  const std::string folder = flags.resume.empty() ? flags.out : flags.resume;
  RankCommand command{.ranks = ranks,
                      .folder = folder,
                      .words = own_words(),
                      .resume = {"curnm", "train", "--resume", folder},
                      .restarts = flags.ranks.restarts,
                      .own_threads = flags.threads > 0};
  const auto keep = [&](const char* name, const auto& value, const auto& without) {
    if (value == without) return;
    command.resume.insert(command.resume.end(), {name, fmt::format("{}", value)});
  };
  keep("--data", flags.moved_data, "");
  keep("--log-dir", flags.log_dir, "");
  keep("--interface", flags.ranks.interface, "");
  keep("--join-seconds", flags.ranks.join_seconds, RankFlags().join_seconds);
  keep("--parallel", flags.ranks.parallel, "");
  keep("--batch-ranks", flags.ranks.batch_ranks, 0);
  keep("--threads", flags.threads, 0);
  keep("--until-epoch", flags.until_epoch, 0);
  keep("--checkpoint-seconds", flags.checkpoint_seconds, -1.0);
  if (flags.json) command.resume.emplace_back("--json");
  return run_ranks(command);
}

/// With how many ranks a resumed run was begun.
RankNumbers recorded_ranks(const TrainFlags& flags) {
  if (flags.resume.empty()) return {};
  const RunSpec spec = read_run(RunFolder(flags.resume), RunUse::kContinue);
  return {spec.ranks, spec.batch_ranks};
}

void declare_flags(CLI::App& command, TrainFlags& flags) {
  command.add_option("DATA", flags.data, "imported folder, raw network, or synthetic[:preset]");
  command.add_option("--out", flags.out, "folder of the run (default: runs/MODEL-MINER-DATA-SEED)");
  command.add_option("--resume", flags.resume,
                     "folder of a run to continue; --epochs N extends one that is finished");
  command.add_option("--init", flags.init,
                     "begin from this model (a run or a file) on its network with what came since");
  command.add_option("--data", flags.moved_data,
                     "where the network of that run is now; with --init, the one to train on");
  command.add_option("--config", flags.config,
                     "YAML file of options by name, with data and out; the command line wins");
  command.add_option("--log-dir", flags.log_dir,
                     "write every epoch's figures for TensorBoard there");
  command.add_option("--threads", flags.threads,
                     "0: OMP_NUM_THREADS or all cores, or as many as the run began with");
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
  add_rank_flags(command, flags.ranks);
  add_read_flags(command, flags.read);
  add_run_flags(command, flags.given);
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app.add_subcommand("train", "Train a model, and test it");
  declare_flags(*command, *flags);
  command->callback([flags, command, &exit_code] {
    if (!flags->config.empty() && flags->resume.empty()) take_config(*flags);
    if (!flags->init.empty() && flags->data.empty()) flags->data.swap(flags->moved_data);
    check_flags(*flags, *command);
    RunSpec spec = flags->init.empty() ? resolve_run(flags->given)
                                       : resolve_run(flags->given, open_init(flags->init));
    if (flags->out.empty()) {
      flags->out = fmt::format("runs/{}-{}-{}-{}", spec.train.model, spec.train.miner,
                               last_name(flags->data), spec.train.seed);
    }
    const std::int64_t ranks =
        ranks_to_start(flags->ranks, [&] { return recorded_ranks(*flags).ranks; });
    if (ranks > 1)
      batch_ranks_of(flags->ranks, ranks, recorded_ranks(*flags));  // before they start
    exit_code = ranks > 1 ? start_ranks(*flags, ranks) : run_rank(*flags, std::move(spec));
  });
}

}  // namespace curnm::cli
