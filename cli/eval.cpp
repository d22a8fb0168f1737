#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "cli/backtest.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/predictor.h"
#include "cli/print.h"
#include "cli/process.h"
#include "cli/test_table.h"
#include "curnm/base/csv.h"
#include "curnm/base/files.h"
#include "curnm/base/names.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/baselines.h"
#include "curnm/evaluation/measured.h"
#include "curnm/training/session.h"

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
  std::string negatives;
  std::string from;
  std::string to;
  std::string periods = BacktestFlags().periods;
  std::string report;
  std::string keep;
  std::int64_t threads = 0;
  GivenOptions given;  // of the task
  GivenOptions read;
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
      const auto& [positive_scores, negative_scores] = entry.fitting;
      for (std::size_t i = 0; i < positive_scores.size(); ++i) {
        const auto e = static_cast<EventId>(i);
        row(set, protocol, 1, log.src[e], log.dst[e], log.time[e], positive_scores[i]);
        row(set, protocol, 0, negatives.src[i], negatives.dst[i], log.time[e], negative_scores[i]);
      }
    }
    file_.flush();
    if (!file_) fail("cannot write {}", path_);
  }

 private:
  void row(std::string_view set, std::size_t protocol, int label, NodeId src, NodeId dst,
           Timestamp time, float score) {
    file_ << fmt::format("{},{},{},{},{},{},{}\n", set, name_of(static_cast<Protocol>(protocol)),
                         label, csv_field(ids_.name(src)), csv_field(ids_.name(dst)), time, score);
  }

  std::string path_;
  const IdMap& ids_;
  std::ofstream file_;
};

// Options that may change after training. The split may not: it decides what the run has learned
// from.
constexpr std::array<std::string_view, 4> kFreeAfterTraining = {"evaluation-batch", "negative-seed",
                                                                "collisions", "rank-among"};

void refuse_fixed_options(const EvalFlags& flags) {
  for (const auto& [name, value] : flags.given) {
    if (std::ranges::find(kFreeAfterTraining, name) != kFreeAfterTraining.end()) continue;
    throw OptionError(OptionError::Kind::kNoEffect, name,
                      fmt::format("--{} has no effect on the test of a trained run (its options: "
                                  "{})",
                                  name, fmt::join(kFreeAfterTraining, ", ")));
  }
}

/// Whether a test by periods is asked for: by its flags, or because only they fit. What is in a
/// model's file does not say how its network was split, and a network that has grown would be split
/// elsewhere.
bool is_backtest(const EvalFlags& flags, const CLI::App& command) {
  for (const char* flag : {"--from", "--to", "--periods", "--report", "--keep"}) {
    if (command.count(flag) > 0) return true;
  }
  if (!flags.model.empty() || !flags.negatives.empty()) return false;
  if (is_model_file(flags.target)) return true;
  const RunFolder folder(flags.target);
  if (flags.data.empty() || !folder.is_run()) return false;
  RunSpec spec = read_run(folder, RunUse::kTest);
  set_read_options(flags.read, flags.data, spec.read);
  return open_run_data(spec, flags.data, /*grown=*/true).events.size() > spec.extent.events;
}

void test_by_periods(const EvalFlags& flags, const CLI::App& command) {
  constexpr std::string_view kUser = "a test by periods";
  refuse_flags(command, {"--protocol", "--dump-scores", "--negatives"}, kUser);
  refuse_flags(command, {"--model"}, "a test by periods: it is for models that were trained");
  refuse_fixed_options(flags);
  run_backtest({.model = {.run = flags.target,
                          .data = flags.data,
                          .read = flags.read,
                          .threads = flags.threads,
                          .keep = flags.keep},
                .task = flags.given,
                .from = flags.from,
                .to = flags.to,
                .periods = flags.periods,
                .report = flags.report,
                .json = flags.json});
}

/// A trained run as its record says, except where the command line says otherwise, before its
/// checkpoint is loaded.
TrainingSession open_session(const EvalFlags& flags) {
  const RunFolder folder(flags.target);
  RunSpec spec = read_run(folder, RunUse::kTest);
  refuse_fixed_options(flags);
  set_given(flags.given, spec.task);
  set_read_options(flags.read, flags.data.empty() ? spec.data : flags.data, spec.read);
  Dataset dataset = open_run_data(spec, flags.data);
  print_notes(dataset);
  return {spec, std::move(dataset)};
}

ordered_json test_run(const EvalFlags& flags, const TestRequest& request,
                      const std::function<void(const LinkTask&)>& on_task) {
  TrainingSession session = open_session(flags);
  on_task(session.task());
  session.resume(RunFolder(flags.target));
  say_if_few(session.task());
  ordered_json result = identity_json(session.spec(), session.task().dataset().name);
  result.update(session.test(request));
  add_comparison(session.task(), request, result);
  return result;
}

/// The network that rules are tested on.
LinkTask open_task(const EvalFlags& flags) {
  TaskOptions options;
  set_given(flags.given, options);
  refuse_idle(flags.given, options);
  Dataset dataset = open_dataset(flags.target, read_options(flags.read));
  print_notes(dataset);
  return LinkTask(std::move(dataset), options);
}

ordered_json test_rule(const EvalFlags& flags, const TestRequest& request,
                       const std::function<void(const LinkTask&)>& on_task) {
  const LinkTask task = open_task(flags);
  on_task(task);
  say_if_few(task);
  ordered_json result = test_baseline(task, flags.model, request);
  add_comparison(task, request, result);
  return result;
}

/// What a file of negatives holds, and the ranking of all rules.
ordered_json rank_among(const LinkTask& task, const RankingNegatives& negatives,
                        const std::string& file) {
  return {{"negatives",
           {{"file", file},
            {"part", name_of(negatives.part)},
            {"events", negatives.size()},
            {"per_event", negatives.per_event},
            {"seed", negatives.seed}}},
          {"rules", rank_rules(task, negatives)}};
}

void print_rankings(const ordered_json& result, const std::string& run) {
  const ordered_json& of = result["negatives"];
  fmt::print("{} {} events, each among {} negatives of {}\n",
             grouped(of["events"].get<std::int64_t>()), of["part"].get<std::string>(),
             grouped(of["per_event"].get<std::int64_t>()), of["file"].get<std::string>());
  fmt::print("{:<20}{:>10}{:>10}\n", "", "MRR", "Hits@10");
  const auto print = [](const std::string& name, const ordered_json& ranking) {
    fmt::print("{:<20}{:>10.4f}{:>10.4f}\n", name, ranking["mrr"].get<double>(),
               ranking["hits10"].get<double>());
  };
  if (result.contains("run")) print(run, result["run"]);
  for (const auto& [name, ranking] : result["rules"].items()) print(name, ranking);
}

/// Ranks true destinations among those of a file, by a run and by every rule, or by rules alone.
void run_ranking(const EvalFlags& flags, const CLI::App& command) {
  constexpr std::string_view kUser = "a ranking among given negatives";
  refuse_flags(command, {"--protocol", "--dump-scores"}, kUser);
  refuse_flags(command, {"--model"}, "a ranking among given negatives: it lists all rules");
  refuse_options(flags.given, {"rank-among", "negative-seed", "collisions"}, kUser);
  set_threads(flags.threads);
  ordered_json result;
  if (RunFolder(flags.target).is_run()) {
    TrainingSession session = open_session(flags);
    const RankingNegatives negatives = read_ranking_negatives(flags.negatives, session.task());
    session.resume(RunFolder(flags.target));
    result = rank_among(session.task(), negatives, flags.negatives);
    result["run"] = to_json(session.rank(negatives));
  } else {
    refuse_flags(command, {"--data"}, "rules: it is for runs");
    const LinkTask task = open_task(flags);
    result = rank_among(task, read_ranking_negatives(flags.negatives, task), flags.negatives);
  }
  if (flags.json) {
    // A path need not be UTF-8; JSON must be.
    fmt::print("{}\n", result.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    print_rankings(result, last_name(flags.target));
  }
}

void run_eval(const EvalFlags& flags, const CLI::App& command) {
  if (is_backtest(flags, command)) return test_by_periods(flags, command);
  if (!flags.negatives.empty()) return run_ranking(flags, command);
  TestRequest request;
  if (!flags.protocol.empty()) {
    request.protocols = {&find_entry("protocol", protocols(), flags.protocol).protocol, 1};
  }
  set_threads(flags.threads);
  const RunFolder folder(flags.target);
  const bool is_rule = !flags.model.empty();
  if (is_rule && folder.is_run()) {
    throw UsageError(fmt::format("{} is a run: --model is for rules on DATA", flags.target));
  }
  if (is_rule) refuse_flags(command, {"--data"}, "a rule: it is for runs");
  if (!is_rule && folder.exists() && !folder.is_run()) {
    fail<UnusableRun>(
        "{} is not a run: it has no options.json (--model tests a rule without learning on DATA)",
        flags.target);
  }
  const auto on_task = [&](const LinkTask& task) {
    // Whoever asks for one protocol gets a ranking only if asked for, too.
    const bool wanted = flags.protocol.empty() || flags.given.contains("rank-among");
    request.rank_among = wanted ? task.options().rank_among : 0;
    const std::int64_t all = std::ssize(task.test().destinations);
    if (flags.given.contains("rank-among") && request.rank_among > all) {
      say("note: --rank-among {} ranks among all {} destinations: there are no more\n",
          request.rank_among, grouped(all));
    }
    if (!flags.protocol.empty()) check_protocol(task.test(), request.protocols.front());
    for (const auto& note : notes_on_negatives(task, request.protocols, /*validation=*/false)) {
      say("note: {}\n", note);
    }
    if (flags.dump.empty()) return;
    const auto dump = std::make_shared<ScoreDump>(flags.dump, task.dataset().ids);
    request.sink = [dump](auto&&... arguments) { (*dump)(arguments...); };
  };
  const ordered_json result =
      is_rule ? test_rule(flags, request, on_task) : test_run(flags, request, on_task);
  if (flags.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    print_results(result);
  }
}

}  // namespace

void add_eval(CLI::App& app) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app.add_subcommand(
      "eval",
      "Test a trained run, or a rule without learning, again; or a model on what "
      "came after its training");
  command
      ->add_option("target", flags->target,
                   "folder of a run, file of a model, or DATA with --model or --negatives")
      ->required();
  command->add_option(
      "--data", flags->data,
      "where the network of the run is now; if it has grown, the model is tested by "
      "periods on what it has not seen");
  const std::string periods = "Test by periods";
  command
      ->add_option("--from", flags->from,
                   "first time, a number or a date (default: the first event that neither taught "
                   "nor chose the model)")
      ->group(periods);
  command->add_option("--to", flags->to, "time before which it ends (default: the last event)")
      ->group(periods);
  command->add_option("--periods", flags->periods, "day, week (of times in seconds), or a number")
      ->capture_default_str()
      ->group(periods);
  command->add_option("--report", flags->report, "file for a page with a chart of each figure")
      ->group(periods);
  add_keep_flag(*command, flags->keep);
  command->get_option("--keep")->group(periods);
  std::string names;
  for (const BaselineEntry& entry : baselines()) names += fmt::format("{} ", entry.name);
  command->add_option("--model", flags->model, "a rule without learning: " + names);
  command->add_option("--protocol", flags->protocol, "this protocol only");
  add_read_flags(*command, flags->read);
  add_run_flags(*command, {"task"}, flags->given);
  command->add_option("--negatives", flags->negatives,
                      "rank among those of a file that `curnm negatives` wrote, beside all rules");
  command->add_option("--dump-scores", flags->dump, "file for one row per scored pair (csv)");
  command->add_option("--threads", flags->threads, "0: OMP_NUM_THREADS or all cores");
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, command] { run_eval(*flags, *command); });
}

}  // namespace curnm::cli
