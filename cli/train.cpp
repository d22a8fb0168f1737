#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>

#include "cli/commands.h"
#include "cli/miner_flags.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "cli/results.h"
#include "curnm/base/files.h"
#include "curnm/base/parallel.h"
#include "curnm/data/open.h"
#include "curnm/training/run.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct TrainFlags {
  RunSpec spec;
  std::string out;
  std::string resume;
  std::int64_t threads = 0;
  double checkpoint_seconds = 30;
  bool json = false;
};

std::atomic<int> received_signal = 0;
extern "C" void remember_signal(int signal) { received_signal = signal; }

/// While it lives, the first SIGINT or SIGTERM is remembered instead of ending the program; a
/// second one ends it.
class SignalWatch {
 public:
  SignalWatch() {
    struct sigaction action {};
    action.sa_handler = remember_signal;
    action.sa_flags = SA_RESETHAND;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
  }
};

/// Progress on stderr (a bar where a person is watching, a line per epoch elsewhere), metrics and
/// checkpoints in the run's folder.
class RunObserver final : public TrainObserver {
 public:
  RunObserver(const Trainer& trainer, fs::path folder, double checkpoint_seconds)
      : trainer_(trainer), folder_(std::move(folder)), checkpoint_seconds_(checkpoint_seconds) {}

  bool stop_requested() override { return received_signal != 0; }

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
    fmt::print(stderr, "\repoch {:>3} [{}{}] {:.0f} batches/s, {:.0f} s left   ", epoch,
               std::string(full, '#'), std::string(kWidth - full, '.'), rate,
               static_cast<double>(of - done) / rate);
  }

  void on_epoch(const EpochRecord& record) override {
    std::string losses;
    for (const auto& [name, value] : record.losses)
      losses += fmt::format(" {} {:.4f}", name, value);
    fmt::print(stderr, "{}epoch {:>3}  validation AP {:.4f}{} {}  {:.1f} s{}\n",
               on_terminal_ ? "\r" : "", record.epoch, record.validation_ap,
               record.best ? "*" : " ", losses, record.seconds, on_terminal_ ? "\x1b[K" : "");
    write_metrics(folder_, trainer_.records());
    if (since_checkpoint_.seconds() >= checkpoint_seconds_) save();
  }

  void on_note(const std::string& note) override { fmt::print(stderr, "note: {}\n", note); }

  void save() {
    save_checkpoint(trainer_.checkpoint(), folder_ / "checkpoint");
    since_checkpoint_ = Stopwatch();
  }

 private:
  const Trainer& trainer_;
  fs::path folder_;
  double checkpoint_seconds_;
  bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
  Stopwatch epoch_watch_;
  Stopwatch since_checkpoint_;
  double next_draw_ = 0;
};

void print_options(const std::string& part, const ordered_json& options) {
  fmt::print(stderr, "{:<6}", part);
  for (const auto& [name, value] : options.items()) {
    fmt::print(stderr, " {} {}", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  fmt::print(stderr, "\n");
}

void print_setup(const RunSpec& spec, const LinkTask& task, const std::string& folder) {
  fmt::print(stderr, "{} on {}: {} training, {} validation, {} test events ({} with new nodes)\n",
             spec.train.model, task.dataset().name, grouped(task.train().size()),
             grouped(task.validation().positives.size()), grouped(task.test().positives.size()),
             grouped(task.new_test() == nullptr ? 0 : task.new_test()->positives.size()));
  const ordered_json parts = options_json(spec);
  for (const auto& [part, options] : parts.items()) print_options(part, options);
  fmt::print(stderr, "curnm {}, data {}, run folder {}\n", CURNM_VERSION,
             task.data_digest().substr(0, 12), folder);
}

ordered_json finish(Trainer& trainer, const fs::path& folder) {
  double seconds = 0;
  for (const EpochRecord& record : trainer.records()) seconds += record.seconds;
  ordered_json result = test_run(trainer);
  result["best_baseline"] = best_baselines(trainer.task());
  result["epochs"] = trainer.records().size();
  result["best_epoch"] = trainer.best_epoch();
  result["seconds_per_epoch"] = seconds / static_cast<double>(trainer.records().size());
  write_file_atomically(folder / "result.json", result.dump(2) + "\n");
  return result;
}

/// A resumed run is what it was started as: other options than those of this session are refused.
void check_flags(const TrainFlags& flags, const CLI::App& command) {
  if (flags.spec.data.empty() == flags.resume.empty()) {
    throw UsageError("give either DATA or --resume RUN");
  }
  if (flags.resume.empty()) {
    const ModelEntry& model = find_entry("model", models(), flags.spec.train.model);
    refuse_unused<ModelOptions>(command, model.name, model.options);
    return check_miner_flags(command, flags.spec.train.miner);
  }
  constexpr std::array<std::string_view, 3> kOfTheSession = {"threads", "checkpoint-seconds",
                                                             "json"};
  const auto refuse = [&]<class Options>(const Options&) {
    refuse_unused<Options>(command, "a run that is resumed", kOfTheSession);
  };
  refuse(flags.spec.train);
  refuse(flags.spec.model);
  refuse(flags.spec.miner);
  refuse(flags.spec.task);
  for (const char* flag : {"--out", "--preset"}) {
    if (command.count(flag) > 0) {
      throw UsageError(fmt::format("{} has no effect on a run that is resumed", flag));
    }
  }
}

int run_train(const TrainFlags& flags) {
  const SignalWatch watch;
  const bool resuming = !flags.resume.empty();
  const std::string folder = resuming ? flags.resume : flags.out;
  set_threads(flags.threads);
  RunSpec spec = resuming ? read_run(folder) : flags.spec;
  Dataset dataset = open_dataset(spec.data);
  print_notes(dataset);
  const LinkTask task(std::move(dataset), spec.task);
  Trainer trainer(task, spec.train, spec.model, spec.miner);
  spec.model = trainer.model_options();
  spec.miner = trainer.miner_options();
  if (!resuming) create_run(folder, spec, task.data_digest());
  if (resuming && fs::exists(fs::path(folder) / "checkpoint")) {
    trainer.resume(load_checkpoint(fs::path(folder) / "checkpoint"));
  }
  print_setup(spec, task, folder);

  RunObserver observer(trainer, folder, flags.checkpoint_seconds);
  TrainOutcome outcome = TrainOutcome::kInterrupted;
  try {
    outcome = trainer.run(observer);
  } catch (const Error&) {
    observer.save();  // the batch that failed was not applied: this is the last good state
    throw;
  }
  observer.save();
  if (outcome == TrainOutcome::kInterrupted) {
    fmt::print(stderr, "\nstopped; continue with: curnm train --resume {}\n", folder);
    return 128 + received_signal;
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

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app.add_subcommand("train", "Train a model, and test it");
  command->add_option("data", flags->spec.data,
                      "imported folder, raw network, or synthetic[:preset]");
  command->add_option("--out", flags->out, "folder of the run (default: runs/MODEL-MINER-DATA)");
  command->add_option("--resume", flags->resume, "folder of a run to continue");
  add_fields(*command, flags->spec.train);
  add_fields(*command, flags->spec.model);
  add_miner_flags(*command, flags->spec.miner);
  add_fields(*command, flags->spec.task);
  command->add_option("--threads", flags->threads, "0: all cores");
  command
      ->add_option("--checkpoint-seconds", flags->checkpoint_seconds,
                   "least time between checkpoints")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "the result as one JSON document");
  command->callback([flags, command, &exit_code] {
    check_flags(*flags, *command);
    if (flags->out.empty()) {
      const std::string stem = fs::path(flags->spec.data).lexically_normal().filename().string();
      flags->out = fmt::format("runs/{}-{}-{}-{}", flags->spec.train.model, flags->spec.train.miner,
                               stem, flags->spec.train.seed);
    }
    exit_code = run_train(*flags);
  });
}

}  // namespace curnm::cli
