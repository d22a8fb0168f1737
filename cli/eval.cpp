#include <array>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "cli/test_table.h"
#include "curnm/base/csv.h"
#include "curnm/base/names.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/baselines.h"
#include "curnm/training/run.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct EvalFlags {
  std::string target;
  std::string data;
  std::string model;
  std::string protocol;
  std::string dump;
  std::int64_t mrr = 0;
  std::int64_t threads = 0;
  TaskOptions task;
  bool json = false;
};

/// One row per scored pair.
class ScoreDump {
 public:
  ScoreDump(const std::string& path, const IdMap& ids) : path_(path), ids_(ids), file_(path) {
    if (!file_) fail("cannot create {}", path);
    file_ << "set,protocol,label,src,dst,time,score\n";
  }

  void operator()(std::string_view set, const EvaluationSet& evaluated,
                  const std::vector<ProtocolScores>& scores) {
    const EventLog& log = evaluated.positives.log;
    for (const ProtocolScores& entry : scores) {
      const auto protocol = static_cast<std::size_t>(entry.protocol);
      const Negatives& negatives = evaluated.negatives[protocol];
      for (std::size_t i = 0; i < entry.positives.size(); ++i) {
        const auto e = static_cast<EventId>(i);
        row(set, protocol, 1, log.src[e], log.dst[e], log.time[e], entry.positives[i]);
        row(set, protocol, 0, negatives.src[i], negatives.dst[i], log.time[e], entry.negatives[i]);
      }
    }
    file_.flush();
    if (!file_) fail("cannot write {}", path_);
  }

 private:
  void row(std::string_view set, std::size_t protocol, int label, NodeId src, NodeId dst,
           Timestamp time, float score) {
    file_ << fmt::format("{},{},{},{},{},{},{}\n", set, protocols()[protocol].name, label,
                         csv_field(ids_.name(src)), csv_field(ids_.name(dst)), time, score);
  }

  std::string path_;
  const IdMap& ids_;
  std::ofstream file_;
};

// How a trained run may be tested in another way. The split is not among them: it decides what the
// run has learned from.
constexpr std::array<std::string_view, 3> kFreeAfterTraining = {"evaluation-batch", "negative-seed",
                                                                "collisions"};

/// What the run says, except where the command line says otherwise.
TaskOptions merged(const TaskOptions& of_run, const TaskOptions& given, const CLI::App& command) {
  TaskOptions options = of_run;
  from_json(to_json(given, given_fields<TaskOptions>(command)), options);
  return options;
}

void run_eval(const EvalFlags& flags, const CLI::App& command) {
  TestRequest request{.mrr_negatives = flags.mrr};
  if (!flags.protocol.empty()) {
    request.protocols = {&find_entry("protocol", protocols(), flags.protocol).protocol, 1};
  }
  set_threads(flags.threads);
  const bool is_run = flags.model.empty();
  RunSpec spec{.data = flags.target};
  const bool has_options = fs::exists(fs::path(flags.target) / "options.json");
  if (is_run) {
    if (!has_options && fs::exists(flags.target)) {
      throw UsageError(fmt::format(
          "{} is not a run: it has no options.json (--model tests a rule without learning on DATA)",
          flags.target));
    }
    spec = read_run(flags.target);
    refuse_unused<TaskOptions>(command, "the test of a trained run", kFreeAfterTraining);
  } else if (has_options) {
    throw UsageError(fmt::format("{} is a run: --model is for rules on DATA", flags.target));
  } else if (flags.task.split == "roll") {
    refuse_flags(command, kOfTimeSplits, "--split roll");
  }
  if (!is_run) refuse_flags(command, {"--data"}, "a rule: it is for runs");
  Dataset dataset = is_run ? open_run_data(spec, flags.data) : open_dataset(spec.data);
  const LinkTask task(std::move(dataset), merged(spec.task, flags.task, command));
  if (const std::int64_t all = std::ssize(task.destinations()); flags.mrr > all) {
    say("note: --mrr {} ranks among all {} destinations: there are no more\n", flags.mrr,
        grouped(all));
  }
  if (!flags.dump.empty()) {
    const auto dump = std::make_shared<ScoreDump>(flags.dump, task.dataset().ids);
    request.sink = [dump](auto&&... arguments) { (*dump)(arguments...); };
  }
  ordered_json result;
  if (is_run) {
    Trainer trainer(task, spec.train, spec.model, spec.miner);
    trainer.resume(read_checkpoint(flags.target));
    result = test_run(trainer, request);
  } else {
    result = test_baseline(task, flags.model, request);
  }
  result["best_baseline"] = best_baselines(task, task.test(), request.protocols);
  result["best_baseline_new"] = task.new_test() == nullptr
                                    ? ordered_json()
                                    : best_baselines(task, *task.new_test(), request.protocols);
  if (flags.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    print_results(result);
  }
}

}  // namespace

void add_eval(CLI::App& app) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command =
      app.add_subcommand("eval", "Test a trained run, or a rule without learning, again");
  command->add_option("target", flags->target, "folder of a run, or DATA with --model")->required();
  command->add_option("--data", flags->data, "where the network of the run is now");
  std::string names;
  for (const BaselineEntry& entry : baselines()) names += fmt::format("{} ", entry.name);
  command->add_option("--model", flags->model, "a rule without learning: " + names);
  command->add_option("--protocol", flags->protocol, "this protocol only");
  command
      ->add_option("--mrr", flags->mrr, "also the mean reciprocal rank among this many negatives")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000000}));
  add_fields(*command, flags->task);
  command->add_option("--dump-scores", flags->dump, "file for one row per scored pair (csv)");
  command->add_option("--threads", flags->threads, "0: all cores");
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, command] { run_eval(*flags, *command); });
}

}  // namespace curnm::cli
