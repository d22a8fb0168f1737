#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/options.h"
#include "cli/process.h"
#include "curnm/data/open.h"
#include "curnm/training/session.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

struct EpochFlags {
  GivenOptions given;  // of the training and the model
  GivenOptions read;
  std::string data;
  std::vector<std::string> miners = {"random", "recent", "ens", "taser", "curnm"};
  std::vector<std::int64_t> pools = {4, 8, 16};
  std::string pi;
  std::string pi_strategy;
  std::int64_t epochs = 3;
  std::int64_t threads = 0;
  bool json = false;
};

/// A row of the table.
struct Setting {
  std::string name;
  std::string miner;
  std::int64_t pool;
};

RunSpec spec_of(const Setting& setting, const EpochFlags& flags) {
  GivenOptions given = flags.given;
  given["miner"] = setting.miner;
  const std::string epochs = std::to_string(flags.epochs + 1);  // the last is never run
  given["epochs"] = given["patience"] = epochs;
  if (setting.miner == "curnm") {
    if (!flags.pi.empty()) given["pi"] = flags.pi;
    if (!flags.pi_strategy.empty()) given["pi-strategy"] = flags.pi_strategy;
    given["pool"] = std::to_string(setting.pool);
  }
  add_bench_defaults(given);
  return resolve_run(given);
}

/// A training that is continued epoch by epoch.
class Contender final : public TrainObserver {
 public:
  Contender(Setting of, const Dataset& dataset, const EpochFlags& flags)
      : setting(std::move(of)), session_(spec_of(setting, flags), dataset) {}

  void run_epoch() {
    stop_ = false;
    session_.train(*this);
  }
  void on_epoch(const EpochRecord& record) override {
    seconds.push_back(record.training_seconds());
    stop_ = true;
  }
  bool stop_requested() override { return stop_; }

  Setting setting;
  std::vector<double> seconds;  // of each epoch, without evaluation

  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  const TrainingSession& session() const { return session_; }

 private:
  TrainingSession session_;
  bool stop_ = false;
};

std::vector<Setting> settings(const EpochFlags& flags) {
  std::vector<Setting> list;
  for (const std::string& miner : flags.miners) {
    if (miner != "curnm") {
      list.push_back({miner, miner, 0});
      continue;
    }
    for (const std::int64_t pool : flags.pools) {
      list.push_back({fmt::format("curnm, M = {}", pool), miner, pool});
    }
  }
  return list;
}

void run_epochs(const EpochFlags& flags, const CLI::App& command) {
  if (std::ranges::find(flags.miners, "curnm") == flags.miners.end()) {
    refuse_flags(command, {"--pi", "--pi-strategy", "--pools"}, "miners without curnm");
  }
  const std::vector<Setting> rows = settings(flags);
  for (const Setting& setting : rows) spec_of(setting, flags);  // fails before data is read
  set_threads(flags.threads);
  const Dataset dataset = open_dataset(flags.data, read_options(flags.read));
  std::deque<Contender> list;
  for (const Setting& setting : rows) list.emplace_back(setting, dataset, flags);
  // In turn, so that a slow minute of the machine slows all of them.
  for (std::int64_t epoch = 0; epoch < flags.epochs; ++epoch) {
    for (Contender& contender : list) contender.run_epoch();
  }

  const LinkTask& task = list.front().session().task();
  const TrainOptions& train = list.front().session().spec().train;
  const double base = list.front().median();
  const auto events = static_cast<double>(task.train().size());
  if (flags.json) {
    ordered_json result = {{"data", task.dataset().name},
                           {"model", train.model},
                           {"batch", train.batch},
                           {"training_events", task.train().size()},
                           {"miners", ordered_json::array()}};
    for (const Contender& contender : list) {
      ordered_json row = {{"miner", contender.setting.miner},
                          {"seconds_per_epoch", contender.median()},
                          {"seconds", contender.seconds},
                          {"ms_per_event", 1e3 * contender.median() / events},
                          {"relative", contender.median() / base}};
      if (contender.setting.miner == "curnm") {
        const ordered_json mining = options_json(contender.session().spec())["miner"];
        for (const char* name : {"pool", "pi", "pi-strategy"}) row[name] = mining[name];
      }
      result["miners"].push_back(std::move(row));
    }
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{} on {}, {} training events in batches of {}; median of {} epochs\n", train.model,
             task.dataset().name, task.train().size(), train.batch, flags.epochs);
  fmt::print("{:<16}{:>10}{:>12}{:>14}\n", "miner", "s/epoch", "ms/event",
             "x " + list.front().setting.name);
  for (const Contender& contender : list) {
    fmt::print("{:<16}{:>10.2f}{:>12.4f}{:>14.2f}\n", contender.setting.name, contender.median(),
               1e3 * contender.median() / events, contender.median() / base);
  }
}

}  // namespace

void add_bench_epoch(CLI::App& bench) {
  auto flags = std::make_shared<EpochFlags>();
  CLI::App* command =
      bench.add_subcommand("epoch", "Whole training epochs by several miners, side by side");
  command->add_option("--data", flags->data, "imported folder, raw network, or synthetic")
      ->required();
  command->add_option("--miners", flags->miners, "those to compare; the first is 1")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--pools", flags->pools, "pool sizes M that curnm is run with")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--epochs", flags->epochs, "epochs of each")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
      ->capture_default_str();
  command->add_option("--pi", flags->pi, "share that curnm selects")->default_str("1");
  command
      ->add_option("--pi-strategy", flags->pi_strategy,
                   "let it follow the curriculum instead: adaptive or linear")
      ->default_str("constant");
  for (const char* name : {"model", "batch", "seed"}) {
    command
        ->add_option_function<std::string>(
            fmt::format("--{}", name),
            [flags, name](const std::string& text) { flags->given[name] = text; })
        ->group("Training");
  }
  add_read_flags(*command, flags->read);
  add_run_flags(*command, {"model"}, flags->given);
  command->add_option("--threads", flags->threads, "0: OMP_NUM_THREADS or all cores");
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, command] { run_epochs(*flags, *command); });
}

}  // namespace curnm::cli
