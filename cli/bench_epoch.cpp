#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/options.h"
#include "cli/process.h"
#include "curnm/data/open.h"
#include "curnm/training/run.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

struct EpochFlags {
  RunSpec spec;
  std::vector<std::string> miners = {"random", "recent", "ens", "taser", "curnm"};
  std::vector<std::int64_t> pools = {4, 8, 16};
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

/// A training that is continued epoch by epoch.
class Contender final : public TrainObserver {
 public:
  Contender(Setting of, const LinkTask& task, const EpochFlags& flags) : setting(std::move(of)) {
    TrainOptions options = flags.spec.train;
    options.miner = setting.miner;
    options.epochs = flags.epochs + 1;  // never the last: that one would end the training
    options.patience = options.epochs;
    MinerOptions miner = flags.spec.miner;
    miner.curnm.pool = setting.pool;
    trainer_ = std::make_unique<Trainer>(task, options, flags.spec.model, miner);
  }

  void run_epoch() {
    stop_ = false;
    trainer_->run(*this);
  }
  void on_epoch(const EpochRecord& record) override {
    seconds.push_back(record.training_seconds());
    stop_ = true;
  }
  bool stop_requested() override { return stop_; }

  Setting setting;
  std::vector<double> seconds;  // of each epoch, evaluation apart

  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }

 private:
  std::unique_ptr<Trainer> trainer_;
  bool stop_ = false;
};

std::vector<Setting> settings(const EpochFlags& flags) {
  std::vector<Setting> list;
  for (const std::string& miner : flags.miners) {
    find_entry("miner", miners(), miner);
    if (miner != "curnm") {
      list.push_back({miner, miner, flags.spec.miner.curnm.pool});
      continue;
    }
    for (const std::int64_t pool : flags.pools) {
      list.push_back({fmt::format("curnm, M = {}", pool), miner, pool});
    }
  }
  return list;
}

void run_epochs(EpochFlags flags, const CLI::App& command) {
  const ModelEntry& model = find_entry("model", models(), flags.spec.train.model);
  refuse_unused<ModelOptions>(command, model.name, model.options);
  if (std::ranges::find(flags.miners, "curnm") == flags.miners.end()) {
    refuse_flags(command, {"--pi", "--pi-strategy", "--pools"}, "miners without curnm");
  }
  set_threads(flags.threads);
  hold_pi(command, flags.spec.miner.curnm);
  const LinkTask task(open_dataset(flags.spec.data), flags.spec.task);
  std::vector<Contender> list;
  for (Setting& setting : settings(flags)) list.emplace_back(std::move(setting), task, flags);
  // In turn, so that a slow minute of the machine slows all of them.
  for (std::int64_t epoch = 0; epoch < flags.epochs; ++epoch) {
    for (Contender& contender : list) contender.run_epoch();
  }

  const double base = list.front().median();
  const auto events = static_cast<double>(task.train().size());
  if (flags.json) {
    ordered_json result = {{"data", task.dataset().name},
                           {"model", flags.spec.train.model},
                           {"batch", flags.spec.train.batch},
                           {"training_events", task.train().size()},
                           {"pi_strategy", flags.spec.miner.curnm.pi_strategy},
                           {"pi", flags.spec.miner.curnm.pi},
                           {"miners", ordered_json::array()}};
    for (const Contender& contender : list) {
      ordered_json row = {{"miner", contender.setting.miner},
                          {"seconds_per_epoch", contender.median()},
                          {"seconds", contender.seconds},
                          {"ms_per_event", 1e3 * contender.median() / events},
                          {"relative", contender.median() / base}};
      if (contender.setting.miner == "curnm") row["pool"] = contender.setting.pool;
      result["miners"].push_back(std::move(row));
    }
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{} on {}, {} training events in batches of {}, {} pi from {}; median of {} epochs\n",
             flags.spec.train.model, task.dataset().name, task.train().size(),
             flags.spec.train.batch, flags.spec.miner.curnm.pi_strategy, flags.spec.miner.curnm.pi,
             flags.epochs);
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
  command->add_option("--data", flags->spec.data, "imported folder, raw network, or synthetic")
      ->required();
  command->add_option("--model", flags->spec.train.model, "tgn, jodie or dysat")
      ->capture_default_str();
  command->add_option("--miners", flags->miners, "those to compare; the first is 1")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--pools", flags->pools, "pool sizes M that curnm is run with")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--epochs", flags->epochs, "epochs of each")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
      ->capture_default_str();
  command->add_option("--batch", flags->spec.train.batch, "events per step")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option("--seed", flags->spec.train.seed)
      ->check(CLI::Range(kNoSign))
      ->capture_default_str();
  command->add_option("--pi", flags->spec.miner.curnm.pi, "share that curnm selects (0: 1)")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--pi-strategy", flags->spec.miner.curnm.pi_strategy,
                      "let it follow the curriculum instead: adaptive or linear");
  show_held_pi(*command);
  add_fields(*command, flags->spec.model);
  command->add_option("--threads", flags->threads, "0: all cores");
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, command] { run_epochs(*flags, *command); });
}

}  // namespace curnm::cli
