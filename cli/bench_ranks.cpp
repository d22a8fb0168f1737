#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/bench.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "cli/ranks.h"
#include "curnm/base/json.h"
#include "curnm/base/parallel.h"
#include "curnm/data/open.h"
#include "curnm/training/session.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

struct BenchRanksFlags {
  GivenOptions given;
  GivenOptions read;
  std::string data;
  std::vector<std::string> settings;  // "2x1": ranks x threads of each; "2x1:batch"
  std::int64_t epochs = 2;
  std::int64_t rounds = 3;
  RankFlags ranks;
  bool json = false;
};

/// Ranks, threads of each, and whether they share batches.
struct Layout {
  std::int64_t ranks = 1;
  std::int64_t threads = 1;
  bool shares_batches = false;
  std::string name() const {
    return fmt::format("{}x{}{}", ranks, threads, shares_batches ? kOfBatch : "");
  }
  static constexpr std::string_view kOfBatch = ":batch";
};

Layout parse_layout(const std::string& text) {
  Layout setting;
  int read = 0;
  setting.shares_batches = text.ends_with(Layout::kOfBatch);
  const std::string numbers =
      text.substr(0, text.size() - (setting.shares_batches ? Layout::kOfBatch.size() : 0));
  const int found =
      std::sscanf(numbers.c_str(), "%ldx%ld%n", &setting.ranks, &setting.threads, &read);
  constexpr std::int64_t kMost = 1024;
  const auto possible = [](std::int64_t number) { return number >= 1 && number <= kMost; };
  if (found != 2 || static_cast<std::size_t>(read) != numbers.size() || !possible(setting.ranks) ||
      !possible(setting.threads)) {
    throw UsageError(fmt::format(
        "--settings {}: ranks x threads of each were expected, such as 2x1 or 2x1:batch", text));
  }
  if (setting.shares_batches && setting.ranks == 1) {
    throw UsageError(fmt::format("--settings {}: one rank has nobody to share batches with", text));
  }
  return setting;
}

/// One rank with one thread, as many ranks as there are cores, one rank with as many threads, and
/// the powers of two between.
std::vector<std::string> default_settings() {
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::string> settings = {"1x1"};
  for (std::int64_t ranks = 2; ranks < cores; ranks *= 2)
    settings.push_back(fmt::format("{}x1", ranks));
  if (cores > 1)
    settings.insert(settings.end(), {fmt::format("{}x1", cores), fmt::format("1x{}", cores)});
  return settings;
}

/// Measures epochs after the first, in which memories are filled.
class EpochMeter final : public TrainObserver {
 public:
  EpochMeter(std::int64_t epochs, const Group* group) : left_(epochs + 1), group_(group) {}

  void on_batch(std::int64_t epoch, std::int64_t done, std::int64_t of) override {
    if (epoch == 0 || group_ == nullptr) return;
    const Group::Traffic now = group_->traffic();
    if (done == 1) begin_ = now;
    if (done < of) return;
    steps_ += of - 1;
    bytes_ += now.bytes - begin_.bytes;
    seconds_ += now.seconds - begin_.seconds;
  }
  void on_epoch(const EpochRecord& record) override {
    --left_;
    if (record.epoch > 0) epochs_.push_back(record.training_seconds());
  }
  bool stop_requested() override { return left_ == 0; }

  ordered_json to_json(std::int64_t events) const {
    const double steps = std::max<double>(1, static_cast<double>(steps_));
    std::vector<double> rates;
    for (const double seconds : epochs_) rates.push_back(static_cast<double>(events) / seconds);
    return {{"events_per_s", rates},
            {"bytes_per_step", bytes_ / steps},
            {"exchange_ms_per_step", 1e3 * seconds_ / steps}};
  }

 private:
  std::int64_t left_;
  const Group* group_;
  Group::Traffic begin_;
  std::int64_t steps_ = 0;
  double bytes_ = 0;
  double seconds_ = 0;
  std::vector<double> epochs_;
};

/// What each rank does. Rank 0 prints the result.
void run_as_rank(const BenchRanksFlags& flags, RunSpec spec) {
  set_threads(0);
  const std::unique_ptr<Group> group = join_ranks(flags.ranks);
  spec.batch_ranks = batch_ranks_of(flags.ranks, group ? group->size() : 1, /*recorded=*/{});
  TrainingSession session(std::move(spec), open_dataset(flags.data, read_options(flags.read)),
                          nobody(), group.get());
  EpochMeter meter(flags.epochs, group.get());
  session.train(meter);
  if (group) group->leave();
  ordered_json result = meter.to_json(session.task().train().size());
  result["data"] = session.task().dataset().name;
  result["training_events"] = session.task().train().size();
  if (session.is_first()) fmt::print("{}\n", result.dump());
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The rows of the table, each with the rates of all its epochs.
ordered_json measure(const BenchRanksFlags& flags, const std::vector<Layout>& settings) {
  ordered_json rows = ordered_json::array();
  for (const Layout& setting : settings) {
    rows.push_back({{"ranks", setting.ranks},
                    {"threads", setting.threads},
                    {"parallel", setting.shares_batches ? "batch" : "memory"},
                    {"events_per_s", ordered_json::array()}});
  }
  // In turn, so that a slow minute of the machine slows all of them.
  for (std::int64_t round = 0; round < flags.rounds; ++round) {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      std::vector<std::string> more;
      if (settings[i].shares_batches) more = {"--parallel", "batch"};
      const ordered_json found =
          parse_json(output_of_ranks(settings[i].ranks, settings[i].threads, more));
      for (const ordered_json& rate : found["events_per_s"])
        rows[i]["events_per_s"].push_back(rate);
      rows[i]["bytes_per_step"] = found["bytes_per_step"];
      rows[i]["exchange_ms_per_step"] = found["exchange_ms_per_step"];
      rows[i]["data"] = found["data"];
      rows[i]["training_events"] = found["training_events"];
    }
  }
  for (ordered_json& row : rows) {
    row["median_events_per_s"] = median(row["events_per_s"]);
    row["relative"] =
        row["median_events_per_s"].get<double>() / rows[0]["median_events_per_s"].get<double>();
  }
  return rows;
}

void run_bench(const BenchRanksFlags& flags) {
  GivenOptions given = flags.given;
  given.emplace("model", "tgn");
  given.emplace("walk", "off");
  given["epochs"] = given["patience"] = std::to_string(flags.epochs + 2);  // never all of them
  RunSpec spec = resolve_run(given);
  if (is_rank()) return run_as_rank(flags, std::move(spec));
  if (!flags.ranks.parallel.empty()) {
    throw UsageError("--parallel is of single settings here: --settings 2x1,2x1:batch");
  }
  std::vector<Layout> settings;
  for (const std::string& text : flags.settings) settings.push_back(parse_layout(text));
  const ordered_json rows = measure(flags, settings);
  if (flags.json) {
    const ordered_json result = {{"data", rows[0]["data"]},       {"model", spec.train.model},
                                 {"decoder", spec.train.decoder}, {"miner", spec.train.miner},
                                 {"batch", spec.train.batch},     {"settings", rows}};
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{} + {} + {} on {}, batches of {} on each rank; median of {} epochs in {} rounds\n",
             spec.train.model, spec.train.decoder, spec.train.miner,
             rows[0]["data"].get<std::string>(), spec.train.batch, flags.epochs * flags.rounds,
             flags.rounds);
  fmt::print("{:<18}{:>10}{:>12}{:>16}{:>20}\n", "ranks x threads", "events/s",
             "x " + settings[0].name(), "kB per step", "exchange, ms/step");
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto number = [&](const char* name) { return rows[i][name].get<double>(); };
    fmt::print("{:<18}{:>10.0f}{:>12.2f}{:>16.0f}{:>20.2f}\n", settings[i].name(),
               number("median_events_per_s"), number("relative"), number("bytes_per_step") / 1e3,
               number("exchange_ms_per_step"));
  }
}

}  // namespace

void add_bench_ranks(CLI::App& bench) {
  auto flags = std::make_shared<BenchRanksFlags>();
  flags->settings = default_settings();
  CLI::App* command =
      bench.add_subcommand("ranks", "Training on several ranks of this host, side by side");
  command->add_option("--data", flags->data, "imported folder, raw network, or synthetic")
      ->required();
  command
      ->add_option("--settings", flags->settings,
                   "ranks x threads of each, to compare; the first is 1; with :batch behind it, "
                   "ranks share batches")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--epochs", flags->epochs, "epochs to measure in each round")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
      ->capture_default_str();
  command->add_option("--rounds", flags->rounds, "how often each setting has its turn")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
      ->capture_default_str();
  for (const char* name : {"model", "decoder", "miner", "batch", "seed"}) {
    command
        ->add_option_function<std::string>(
            fmt::format("--{}", name),
            [flags, name](const std::string& text) { flags->given[name] = text; })
        ->group("Training");
  }
  add_parallel_flag(*command, flags->ranks)->group("");  // of the processes that are started
  add_read_flags(*command, flags->read);
  add_run_flags(*command, {"model", "decoder", "miner"}, flags->given);
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags] { run_bench(*flags); });
}

}  // namespace curnm::cli
