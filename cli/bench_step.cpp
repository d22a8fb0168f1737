#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "curnm/base/error.h"
#include "curnm/data/open.h"
#include "curnm/training/benchmark.h"
#include "curnm/training/facts.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

struct StepFlags {
  GivenOptions given;
  GivenOptions read;
  std::string data;
  std::string compare;
  std::int64_t steps = 0;
  std::int64_t threads = 0;
  bool json = false;
};

ordered_json stages_json(const StepTimes& times) {
  ordered_json stages;
  for (std::size_t stage = 0; stage < kStepStages; ++stage) {
    stages[std::string(kStageNames[stage])] = times.stages[stage];
  }
  return stages;
}

void run_step(const StepFlags& flags, const CLI::App& command) {
  refuse_options(flags.given, {"patience", "tolerance", "goal", "select-on"}, "a step");
  GivenOptions given = flags.given;
  const bool curriculum = add_bench_defaults(given);
  RunSpec spec = resolve_run(given);
  set_threads(flags.threads);
  if (spec.train.path == Path::kPlain) refuse_flags(command, {"--compare"}, "--path plain");
  if (!flags.compare.empty() && flags.compare != "plain") {
    throw UsageError(fmt::format("--compare {}: only 'plain' can be compared with", flags.compare));
  }
  const LinkTask task(open_dataset(flags.data, read_options(flags.read)), spec.task);
  complete(spec, task, nobody());
  const double before = gemm_gflops();
  const StepTimes fast = measure_steps(task, spec, flags.steps);
  // A slow moment of the machine must not make the steps look good.
  const double peak = std::max(before, gemm_gflops());
  ordered_json result = {
      {"data", task.dataset().name}, {"model", spec.train.model},
      {"miner", spec.train.miner},   {"batch", spec.train.batch},
      {"steps", fast.steps},         {"ms_per_step", fast.ms},
      {"stages", stages_json(fast)}, {"gemm_gflops", peak},
      {"step_gflop", fast.gflop},    {"peak_fraction", fast.gflop / (fast.ms * 1e-3) / peak}};
  if (curriculum) result["pi"] = options_json(spec)["miner"]["pi"];
  const std::string path(name_of(spec.train.path));
  StepTimes plain;
  if (!flags.compare.empty()) {
    spec.train.path = Path::kPlain;
    plain = measure_steps(task, spec, flags.steps);
    result["plain_ms_per_step"] = plain.ms;
    result["plain_stages"] = stages_json(plain);
  }
  if (flags.json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{} + {} on {}, batch {}, {} steps past half of the training events\n",
             spec.train.model, spec.train.miner, task.dataset().name, spec.train.batch, fast.steps);
  fmt::print("{:<12}{:>10}{:>10}\n", "ms per step", path, flags.compare.empty() ? "" : "plain");
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
  command->add_option("--data", flags->data, "imported folder, raw network, or synthetic")
      ->required();
  add_read_flags(*command, flags->read);
  add_run_flags(*command, {"train", "model", "decoder", "miner", "task"}, flags->given);
  command->add_option("--compare", flags->compare, "plain: measure that path too");
  command->add_option("--steps", flags->steps, "steps to measure; 0: up to 50")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100000}))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "0: OMP_NUM_THREADS or all cores");
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, command] { run_step(*flags, *command); });
}

}  // namespace curnm::cli
