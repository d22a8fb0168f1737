#include "curnm/report/report.h"

#include <array>
#include <filesystem>

#include "cli/commands.h"
#include "cli/grid.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/store_names.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/files.h"
#include "curnm/base/names.h"
#include "curnm/experiments/run_result.h"
#include "curnm/experiments/store.h"
#include "curnm/runs/run_folder.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

struct ReportFlags {
  std::vector<std::string> sources = {GridFlags().store};
  std::string out;
  std::string format;
  std::string title;
  std::vector<std::string> experiments;
};

struct FormatEntry {
  std::string_view name;
  std::string_view extension;
  bool is_page;  // for people, with individual epochs
  std::string (*write)(const ResultSet&, const ReportOptions&);
};
constexpr std::array<FormatEntry, 4> kFormats = {{
    {"html", ".html", true, html_report},
    {"md", ".md", true, markdown_report},
    {"latex", ".tex", true, latex_report},
    {"csv", ".csv", false,
     [](const ResultSet& results, const ReportOptions&) { return csv_report(results); }},
}};

RunResult read_run(const std::string& source) {
  const fs::path folder = source;
  const fs::path store = folder / fs::path(GridFlags().store).filename();
  if (!RunFolder(folder).is_run() && fs::exists(store)) {
    fail<UnusableRun>("{} is not a run; the store in it is {}", source, store.string());
  }
  RunResult run = read_run_folder(folder);
  if (run.state == RunState::kPaused && is_locked(RunFolder(folder).options())) {
    run.state = RunState::kRunning;
  }
  return run;
}

/// A store, or the folders of runs.
ResultSet read_results(const ReportFlags& flags, const FormatEntry& format) {
  const std::string& first = flags.sources.front();
  if (flags.sources.size() == 1 && !fs::is_directory(first)) {
    const ResultStore store(first, ResultStore::Mode::kRead);
    check_experiments(store, flags.experiments);
    return store.load({.experiments = flags.experiments, .curves = format.is_page});
  }
  if (!flags.experiments.empty()) {
    throw UsageError(fmt::format("--experiment has no effect on the run {}", first));
  }
  ResultSet results;
  for (const std::string& source : flags.sources) {
    results.runs.push_back(read_run(source));
    results.runs.back().id = std::ssize(results.runs);
  }
  return results;
}

/// From --format, else from the file's extension.
const FormatEntry& format_of(const ReportFlags& flags) {
  const std::span<const FormatEntry> formats(kFormats);
  if (!flags.format.empty()) return find_entry("format", formats, flags.format);
  const std::string extension = fs::path(flags.out).extension().string();
  const auto named = std::ranges::find(formats, extension, &FormatEntry::extension);
  if (named != formats.end()) return *named;
  if (extension.empty()) return formats.front();
  throw UsageError(
      fmt::format("no format is known by '{}': say which one with --format", extension));
}

void run_report(const ReportFlags& flags) {
  const FormatEntry& format = format_of(flags);
  ResultSet results = read_results(flags, format);
  if (format.is_page) shorten_networks(results);
  const std::string text = format.write(results, {.title = flags.title});
  if (flags.out.empty()) {
    fmt::print("{}", text);
    return;
  }
  std::error_code none;  // ignored: the file may not exist yet
  for (const std::string& source : flags.sources) {
    if (!fs::equivalent(flags.out, source, none)) continue;
    throw UsageError(fmt::format("--out {} is what the report is made from", flags.out));
  }
  write_file_atomically(flags.out, text);
  say("{}: {} runs, {} kB\n", flags.out, results.runs.size(), text.size() / 1000);
}

}  // namespace

void add_report(CLI::App& app) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command =
      app.add_subcommand("report", "Tables and charts of a store of results, or of some runs");
  command->add_option("sources", flags->sources, "a store, or the folders of runs")
      ->capture_default_str();
  command->add_option("--out", flags->out, "file to write (default: the standard output)");
  command->add_option("--format", flags->format,
                      "html, md, latex or csv (default: by the name of the file, else html)");
  command->add_option("--title", flags->title, "of the page (default: what the results are of)");
  command->add_option("--experiment", flags->experiments, "only of these experiments")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->callback([flags, command] {
    if (format_of(*flags).name == "csv") refuse_flags(*command, {"--title"}, "a table in csv");
    run_report(*flags);
  });
}

}  // namespace curnm::cli
