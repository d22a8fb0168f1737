#include "cli/grid.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "cli/print.h"
#include "cli/signals.h"
#include "curnm/base/error.h"
#include "curnm/experiments/estimate.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

std::string result_line(const RunResult& result) {
  if (result.state == RunState::kFailed) return "failed: " + result.reason;
  if (result.state == RunState::kWaiting) return "has to wait: " + result.reason;
  if (result.state != RunState::kDone) {
    const ValidationFigure figure = validation_figure(result);
    return fmt::format("paused after {} epochs, validation {} {:.4f}", result.epochs,
                       figure_name(figure), best_validation(result, result.epochs, figure));
  }
  return fmt::format("test AP {} (trans), {} (random); best epoch {} of {}",
                     figure_or_dash(find_score(result, "test", "trans", "ap")),
                     figure_or_dash(find_score(result, "test", "random", "ap")), result.best_epoch,
                     result.epochs);
}

std::set<std::int64_t> runs_of(const ResultStore& store, const std::string& experiment) {
  std::set<std::int64_t> runs;
  for (const RunResult& run : store.load({.experiments = {experiment}, .curves = false}).runs) {
    runs.insert(run.id);
  }
  return runs;
}

}  // namespace

void add_grid_flags(CLI::App& command, GridFlags& flags) {
  command.add_option("--store", flags.store, "file of the results; the runs go beside it")
      ->capture_default_str();
  command
      .add_option("--data-folder", flags.data_folder,
                  "folder of the networks; published ones that it lacks are fetched into it")
      ->envname("CURNM_DATA")
      ->capture_default_str();
  command.add_option("--workers", flags.workers, "runs at a time; 0: as many as there are cores")
      ->capture_default_str();
  command.add_option("--threads", flags.threads, "of each worker")->capture_default_str();
  command.add_flag("--retry-failed", flags.retry_failed, "try again what failed before");
}

RunnerOptions runner_options(const GridFlags& flags) {
  if (flags.store.empty()) throw UsageError("--store needs the name of a file");
  if (flags.workers < 0) {
    throw UsageError(fmt::format("--workers {} must not be negative", flags.workers));
  }
  if (flags.threads < 1) {
    throw UsageError(fmt::format("--threads {} must be at least 1", flags.threads));
  }
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  return {.program = "/proc/self/exe",  // this program, even if its file is replaced
          .folder = fs::absolute(flags.store).parent_path() / "runs",
          .workers =
              flags.workers > 0 ? flags.workers : std::max<std::int64_t>(1, cores / flags.threads),
          .threads = flags.threads};
}

bool name_is_taken(const ResultStore& store, const Experiment& experiment) {
  const std::set<std::int64_t> before = runs_of(store, experiment.name);
  return !before.empty() && std::ranges::none_of(experiment.jobs, [&](const Job& job) {
    const std::optional<std::int64_t> run = store.find(job);
    return run && before.contains(*run);
  });
}

std::vector<std::int64_t> planned(ResultStore& store, const Experiment& experiment) {
  std::set<std::int64_t> before = runs_of(store, experiment.name);
  const std::vector<std::int64_t> runs = store.plan(experiment);
  for (std::int64_t run : runs) before.erase(run);
  if (!before.empty()) {
    say("note: {} run(s) that {} had before are no longer part of it\n", before.size(),
        experiment.name);
  }
  return runs;
}

std::string time_span(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<std::int64_t>(std::round(seconds / 60));
  if (minutes < 60) return fmt::format("{} min", minutes);
  const std::int64_t hours = minutes / 60;
  if (hours < 48) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} days {} h", hours / 24, hours % 24);
}

GridProgress::GridProgress(std::map<std::int64_t, double> estimates, std::int64_t workers)
    : waiting_(std::move(estimates)),
      count_(waiting_.size()),
      workers_(workers),
      on_terminal_(::isatty(STDERR_FILENO) == 1) {}

double GridProgress::seconds_left() const {
  // Corrects the estimates by the ratio of actual to estimated time so far.
  const double factor = ended_estimate_ > 0 ? ended_seconds_ / ended_estimate_ : 1;
  const double mean_seconds = ended_ > 0 ? ended_seconds_ / static_cast<double>(ended_) : 0;
  std::vector<double> left;
  for (const auto& [run, estimate] : waiting_) {
    const auto started = started_.find(run);
    const double spent = started == started_.end() ? 0 : started->second.seconds();
    // A run without an estimate is assumed to take the mean of those that ended.
    const double whole = estimate > 0 ? factor * estimate : mean_seconds;
    left.push_back(std::max(0.0, whole - spent));
  }
  return side_by_side(left, workers_);
}

void GridProgress::on_start(const Assignment& assignment) { started_[assignment.run] = {}; }

void GridProgress::on_end(const Assignment& assignment, const RunResult& result) {
  const auto found = waiting_.find(assignment.run);
  if (found != waiting_.end()) {
    if (const auto started = started_.find(assignment.run); started != started_.end()) {
      ++ended_;
      ended_estimate_ += found->second;
      ended_seconds_ += started->second.seconds();
    }
    waiting_.erase(found);
  }
  const double left = seconds_left();
  say("{}[{}/{}] {}: {}{}\n", on_terminal_ ? "\r\x1b[K" : "", count_ - waiting_.size(), count_,
      assignment.job.title(), result_line(result),
      waiting_.empty() ? "; the last"
      : left > 0       ? "; about " + time_span(left) + " left"
                       : "");
}

void GridProgress::on_restart(const Assignment& assignment, const std::string& reason) {
  say("{}{}: begins again, since it cannot go on: {}\n", on_terminal_ ? "\r\x1b[K" : "",
      assignment.job.title(), reason);
}

void GridProgress::on_elsewhere(const Assignment& assignment) {
  count_ -= waiting_.erase(assignment.run);
}

void GridProgress::on_tick(std::span<const std::int64_t> epochs) {
  if (!on_terminal_) return;
  std::string running;
  for (std::int64_t done : epochs) running += fmt::format(" {}", done);
  say("\r\x1b[K{} of {} ended; in progress at epoch{}", count_ - waiting_.size(), count_, running);
}

bool GridProgress::stop_requested() { return received_signal() != 0; }

int report_outcome(const RunnerOutcome& outcome, const GridFlags& flags) {
  if (outcome.elsewhere > 0) {
    say("{} run(s) are in the hands of another process\n", outcome.elsewhere);
  }
  if (outcome.missing > 0) {
    say("{} run(s) wait for networks that cannot be had\n", outcome.missing);
  }
  if (outcome.failed > 0) {
    say("{} run(s) failed: curnm results {} --state failed shows why, --retry-failed tries "
        "them again\n",
        outcome.failed, flags.store);
  }
  if (outcome.disk_full) {
    say("stopped, because the disk is full; with more room, the same command goes on\n");
    return 1;
  }
  if (outcome.stopped) {
    say("stopped; the same command goes on where it was\n");
    return 128 + received_signal();
  }
  return outcome.elsewhere + outcome.missing + outcome.failed > 0 ? 1 : 0;
}

}  // namespace curnm::cli
