#include "cli/backtest.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/print.h"
#include "curnm/base/files.h"
#include "curnm/base/version.h"
#include "curnm/evaluation/backtest.h"
#include "curnm/report/backtest_report.h"
#include "curnm/training/run_spec.h"

namespace curnm::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kBacktestSchema = 1;  // changes when a key changes its meaning

/// The options of negatives: those of the run, or defaults where only its model is left, and what
/// was given on top.
TaskOptions task_options(const BacktestFlags& flags, const TrainedModel& model) {
  TaskOptions options;
  if (!is_model_file(flags.model.run)) {
    options = read_run(RunFolder(flags.model.run), RunUse::kTest).task;
  }
  options.evaluation_batch = model.batch;
  set_given(flags.task, options);
  return options;
}

std::vector<Period> periods_of(const BacktestFlags& flags, const Predictor& predictor) {
  const EventLog& log = predictor.dataset().events;
  const EventId unseen = predictor.model().first_unseen;
  const PeriodLength length = parse_periods(flags.periods);
  std::optional<Timestamp> to;
  if (!flags.to.empty()) to = parse_time("to", flags.to);
  if (!flags.from.empty()) {
    const Timestamp from = parse_time("from", flags.from);
    std::vector<Period> periods = cut_periods(log, from, to, length);
    if (periods.front().begin < unseen) {
      say("note: the model has learned from, or was chosen by, events before {}: figures of "
          "earlier ones flatter it\n",
          unseen < log.size() ? fmt::format("{}", log.time[unseen]) : "the end of its network");
    }
    return periods;
  }
  if (unseen >= log.size()) {
    fail(
        "{} has no event that the model has not seen: --data names the network with what came "
        "since, or --from T begins earlier",
        predictor.dataset().name);
  }
  return cut_periods(log, log.time[unseen], to, length);
}

ordered_json head_of(const BacktestFlags& flags, const Predictor& predictor,
                     const TaskOptions& options, const std::vector<Period>& periods) {
  const TrainedModel& model = predictor.model();
  const EventLog& log = predictor.dataset().events;
  return {{"schema", kBacktestSchema},
          {"version", kVersion},
          {"data", predictor.dataset().name},
          {"data_digest", predictor.dataset().digest()},
          {"model", model.model},
          {"decoder", model.decoder},
          {"seed", model.seed},
          {"trained",
           {{"version", model.version},
            {"events", model.extent.events},
            {"nodes", model.extent.nodes},
            {"until", model.last_time},
            {"first_unseen", model.first_unseen < log.size()
                                 ? ordered_json(log.time[model.first_unseen])
                                 : ordered_json()}}},
          {"from", periods.front().from},
          {"to", periods.back().to},
          {"periods_by", flags.periods},
          {"keep", flags.model.keep.empty() ? ordered_json() : ordered_json(flags.model.keep)},
          {"rank_among", options.rank_among},
          {"evaluation_batch", options.evaluation_batch},
          {"negative_seed", options.negative_seed},
          {"collisions", name_of(options.collisions)}};
}

/// A row of figures, "-" where there is none.
template <class Value>
void print_figures(const std::vector<std::string>& figures, const Value& value) {
  for (const std::string& figure : figures) {
    const std::string text = value(figure);
    fmt::print("{:>{}}", text, std::max<std::size_t>(10, figure.size() + 2));
  }
  fmt::print("\n");
}

std::string signed_or_dash(const ordered_json& value) {
  return value.is_number() ? fmt::format("{:+.4f}", value.get<double>()) : "-";
}

std::string four_digits(const ordered_json& value) {
  return value.is_number() ? fmt::format("{:.4f}", value.get<double>()) : "-";
}

/// One table: of the model, or of the best rules.
template <class OfPeriod>
void print_table(const ordered_json& result, const std::string& title, const char* all,
                 const char* change, const OfPeriod& of_period) {
  std::vector<std::string> figures;
  for (const auto& [name, ignored] : result["all"]["test"].items()) figures.push_back(name);
  fmt::print("{:<8}{:>14}{:>10}{:>9}", title, "from", "events", "new");
  print_figures(figures, [](const std::string& figure) { return figure; });
  std::size_t number = 0;
  for (const ordered_json& period : result["periods"]) {
    fmt::print("{:<8}{:>14.10g}{:>10}{:>9}", ++number, period["from"].get<double>(),
               grouped(period["events"].get<std::int64_t>()),
               grouped(period["new_node_events"].get<std::int64_t>()));
    print_figures(figures, [&](const std::string& figure) { return of_period(period, figure); });
  }
  fmt::print("{:<41}", "all");
  print_figures(figures,
                [&](const std::string& figure) { return four_digits(result["all"][all][figure]); });
  fmt::print("{:<41}", "later half minus earlier");
  print_figures(figures, [&](const std::string& figure) {
    return signed_or_dash(result["change"][figure][change]);
  });
}

void print_backtest(const ordered_json& result) {
  fmt::print(
      "AP by protocol and MRR among {}, by period; new: events with nodes that came after "
      "the training\n",
      grouped(result["rank_among"].get<std::int64_t>()));
  print_table(result, result["model"], "test", "model",
              [](const ordered_json& period, const std::string& figure) -> std::string {
                const ordered_json& test = period["test"];
                if (!test.contains(figure)) return "-";
                return four_digits(test[figure][figure == "mrr" ? "mrr" : "ap"]);
              });
  fmt::print("\nbest rule without learning:");
  for (const auto& [figure, rule] : result["rules"].items()) {
    fmt::print(" {} {}", figure, rule.get<std::string>());
  }
  fmt::print("\n");
  print_table(result, "rule", "rules", "rule",
              [](const ordered_json& period, const std::string& figure) -> std::string {
                return period["rules"].contains(figure) ? four_digits(period["rules"][figure])
                                                        : "-";
              });
}

/// The figures of so few events are noise.
void note_small_periods(const std::vector<Period>& periods) {
  constexpr EventId kFew = 100;
  const auto few = std::ranges::count_if(
      periods, [](const Period& period) { return period.end - period.begin < kFew; });
  if (few > 0) {
    say("note: {} of {} periods have fewer than {} events: their figures say little\n", few,
        periods.size(), kFew);
  }
}

}  // namespace

void run_backtest(const BacktestFlags& flags) {
  parse_periods(flags.periods);  // reported before anything is read
  const Predictor predictor = open_predictor(flags.model);
  print_notes(predictor.dataset());
  const TaskOptions options = task_options(flags, predictor.model());
  const std::vector<Period> periods = periods_of(flags, predictor);
  note_small_periods(periods);
  const std::int64_t events = periods.back().end - periods.front().begin;
  const bool on_terminal = ::isatty(STDERR_FILENO) == 1;
  ordered_json result = head_of(flags, predictor, options, periods);
  result.update(backtest(predictor.dataset().events, predictor.past(), periods,
                         {.negatives = options.negatives(),
                          .rank_among = options.rank_among,
                          .first_unseen = predictor.model().first_unseen,
                          .on_progress =
                              [&](std::int64_t done) {
                                if (!on_terminal) return;
                                say("\r{} of {} events{}", grouped(done), grouped(events),
                                    done == events ? "\r\x1b[K" : "");
                              }},
                         [&] { return predictor.scorer_after(periods.front().begin); }));
  if (!flags.report.empty()) write_file_atomically(flags.report, backtest_report(result, {}));
  if (flags.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    print_backtest(result);
  }
}

}  // namespace curnm::cli
