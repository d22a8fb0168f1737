#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/gemm.h"
#include "cli/miner_flags.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "curnm/data/open.h"
#include "curnm/training/run.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

struct StepFlags {
  RunSpec spec;
  std::string compare;
  std::int64_t steps = 0;
  std::int64_t threads = 0;
  bool json = false;
};

/// The parts of a step without the validation that follows an epoch.
constexpr std::size_t kStepStages = static_cast<std::size_t>(Stage::kValidate);

struct StepTimes {
  std::int64_t steps = 0;  // measured
  double ms = 0;           // per step
  std::array<double, kStepStages> stages{};
  double gflop = 0;
};

/// Lets a training get warm, then measures some steps, then counts the operations of some more, and
/// stops.
class StepWatch final : public TrainObserver {
 public:
  /// steps: to measure; 0: as many as there are, up to kUsual.
  StepWatch(Trainer& trainer, std::int64_t steps) : trainer_(trainer), steps_(steps) {
    const std::int64_t all = trainer.batches();
    start_ = all / 2;
    const std::int64_t room = all - start_ - kCounted;
    if (steps_ == 0) steps_ = std::clamp<std::int64_t>(room, 1, kUsual);
    if (steps_ > room) {
      fail(
          "an epoch has {} steps, of which {} come after its first half and {} count operations: "
          "no room to measure {}; try fewer --steps or a smaller --batch",
          all, all - start_, kCounted, steps_);
    }
    times_.steps = steps_;
    trainer.skip(std::max<std::int64_t>(start_ - kWarm, 0));
  }

  void on_batch(std::int64_t, std::int64_t done, std::int64_t) override {
    if (done == start_) before_ = trainer_.current();
    if (done == start_ + steps_) {
      for (std::size_t stage = 0; stage < kStepStages; ++stage) {
        const double seconds = trainer_.current().stages[stage] - before_.stages[stage];
        times_.stages[stage] = 1e3 * seconds / static_cast<double>(steps_);
        times_.ms += times_.stages[stage];
      }
      counter_ = std::make_unique<FlopCounter>();
    }
    if (done == start_ + steps_ + kCounted) {
      times_.gflop = 1e-9 * counter_->flops() / kCounted;
      counter_.reset();
      finished_ = true;
    }
  }
  bool stop_requested() override { return finished_; }

  const StepTimes& times() const { return times_; }

 private:
  static constexpr std::int64_t kUsual = 50;
  static constexpr std::int64_t kWarm = 20;
  static constexpr std::int64_t kCounted = 4;

  const Trainer& trainer_;
  std::int64_t steps_;
  std::int64_t start_ = 0;
  EpochRecord before_;
  std::unique_ptr<FlopCounter> counter_;
  StepTimes times_;
  bool finished_ = false;
};

StepTimes measure(const LinkTask& task, const RunSpec& spec, const std::string& path,
                  std::int64_t steps) {
  TrainOptions options = spec.train;
  options.path = path;
  Trainer trainer(task, options, spec.model, spec.miner);
  StepWatch watch(trainer, steps);
  trainer.run(watch);
  return watch.times();
}

ordered_json stages_json(const StepTimes& times) {
  ordered_json stages;
  for (std::size_t stage = 0; stage < kStepStages; ++stage) {
    stages[std::string(kStageNames[stage])] = times.stages[stage];
  }
  return stages;
}

void run_step(StepFlags flags, const CLI::App& command) {
  const ModelEntry& model = find_entry("model", models(), flags.spec.train.model);
  refuse_unused<ModelOptions>(command, model.name, model.options);
  check_miner_flags(command, flags.spec.train.miner);
  hold_pi(command, flags.spec.miner.curnm);
  refuse_idle_flags(command, flags.spec.miner.curnm);
  refuse_flags(command, {"--patience", "--tolerance", "--select-on"}, "a step");
  set_threads(flags.threads);
  if (flags.spec.train.path == "plain") {
    refuse_flags(command, {"--compare"}, "--path plain");
  }
  if (!flags.compare.empty() && flags.compare != "plain") {
    throw UsageError(fmt::format("--compare {}: only 'plain' can be compared with", flags.compare));
  }
  const LinkTask task(open_dataset(flags.spec.data), flags.spec.task);
  const double before = gemm_gflops();
  const StepTimes fast = measure(task, flags.spec, flags.spec.train.path, flags.steps);
  // A slow moment of the machine must not make the steps look good.
  const double peak = std::max(before, gemm_gflops());
  ordered_json result = {{"data", task.dataset().name},
                         {"model", flags.spec.train.model},
                         {"miner", flags.spec.train.miner},
                         {"pi", flags.spec.miner.curnm.pi},
                         {"batch", flags.spec.train.batch},
                         {"steps", fast.steps},
                         {"ms_per_step", fast.ms},
                         {"stages", stages_json(fast)},
                         {"gemm_gflops", peak},
                         {"step_gflop", fast.gflop},
                         {"peak_fraction", fast.gflop / (fast.ms * 1e-3) / peak}};
  StepTimes plain;
  if (!flags.compare.empty()) {
    plain = measure(task, flags.spec, "plain", flags.steps);
    result["plain_ms_per_step"] = plain.ms;
    result["plain_stages"] = stages_json(plain);
  }
  if (flags.json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{} + {} on {}, batch {}, {} steps past half of the training events\n",
             flags.spec.train.model, flags.spec.train.miner, task.dataset().name,
             flags.spec.train.batch, fast.steps);
  fmt::print("{:<12}{:>10}{:>10}\n", "ms per step", flags.spec.train.path,
             flags.compare.empty() ? "" : "plain");
  const auto row = [&](std::string_view name, double a, double b) {
    fmt::print("{:<12}{:>10.2f}{:>10}\n", name, a,
               flags.compare.empty() ? "" : fmt::format("{:.2f}", b));
  };
  for (std::size_t stage = 0; stage < kStepStages; ++stage) {
    row(kStageNames[stage], fast.stages[stage], plain.stages[stage]);
  }
  row("all", fast.ms, plain.ms);
  fmt::print(
      "matrix products: {:.2f} GF per step, {:.0f} GF/s on this machine, {:.2f} of it reached\n",
      fast.gflop, peak, fast.gflop / (fast.ms * 1e-3) / peak);
}

}  // namespace

void add_bench_step(CLI::App& bench) {
  auto flags = std::make_shared<StepFlags>();
  CLI::App* command = bench.add_subcommand("step", "One training step, by its stages");
  command->add_option("--data", flags->spec.data, "imported folder, raw network, or synthetic")
      ->required();
  add_fields(*command, flags->spec.train);
  add_fields(*command, flags->spec.model);
  add_miner_flags(*command, flags->spec.miner);
  show_held_pi(*command);
  command->add_option("--compare", flags->compare, "plain: measure that path too");
  command->add_option("--steps", flags->steps, "steps to measure; 0: up to 50")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100000}))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "0: all cores");
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, command] { run_step(*flags, *command); });
}

}  // namespace curnm::cli
