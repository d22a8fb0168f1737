#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/base/version.h"
#include "curnm/experiments/runner.h"

namespace curnm::cli {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kClosedPipe = 128 + SIGPIPE;  // as if killed by the signal

/// The subcommand that was being read when parsing ended: the innermost one.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.back());
}

/// Words that no option took: a mistyped flag or command. They explain more than other errors, such
/// as a required flag that is missing because it was mistyped.
void reject_leftovers(const CLI::App& app) {
  const CLI::App& command = innermost(app);
  const auto leftovers = command.remaining();
  if (leftovers.empty()) return;
  const std::string& word = leftovers.front();
  const bool is_flag = word.starts_with("-");
  std::vector<std::string> names;
  if (is_flag) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  } else {
    for (const CLI::App* sub : command.get_subcommands({})) names.push_back(sub->get_name());
  }
  if (names.empty()) throw UsageError(fmt::format("unexpected argument '{}'", word));
  const std::string flag = word.substr(0, word.find('='));
  unknown_name(is_flag ? "option" : "command", is_flag ? flag : word,
               std::vector<std::string_view>(names.begin(), names.end()));
}

void complain(const std::exception& error) { say("curnm: {}\n", printable(error.what())); }

int run(int argc, char** argv) {
  CLI::App app{"Trains temporal graph networks with curriculum negative mining.", "curnm"};
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();
  int exit_code = 0;
  add_import(app);
  add_generate(app);
  add_fetch(app);
  add_stats(app);
  add_train(app, exit_code);
  add_eval(app);
  add_negatives(app);
  add_compare(app);
  add_predict(app);
  add_export(app);
  add_experiment(app, exit_code);
  add_tune(app, exit_code);
  add_results(app);
  add_report(app);
  add_bench(app);
  add_list(app);
  add_doctor(app);
  app.footer(
      "Examples:\n"
      "  curnm import events.csv --out network && curnm stats network\n"
      "  curnm train synthetic:drift --model tgn --epochs 10 --out run && curnm eval run");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    if (app.get_subcommands().empty()) reject_leftovers(app);  // `curnm trian --help`
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    reject_leftovers(app);
    std::string name;
    for (const CLI::App* command = &innermost(app); command != nullptr;
         command = command->get_parent()) {
      name = command->get_name() + (name.empty() ? "" : " ") + name;
    }
    throw UsageError(fmt::format("{}\nRun '{} --help' for the options.", error.what(), name));
  }
  return exit_code;
}

}  // namespace
}  // namespace curnm::cli

int main(int argc, char** argv) {
  curnm::cli::sleep_while_waiting(argv);
  curnm::cli::keep_freed_memory();
  curnm::cli::explain_lost_files();
  // A closed pipe or a file size limit makes a write fail instead of killing the program: a
  // training can still save its state.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = curnm::cli::run(argc, argv);
    if (std::fflush(stdout) != 0) {
      throw std::system_error(errno, std::generic_category(),
                              "cannot write to the standard output");
    }
    return code;
  } catch (const curnm::UsageError& error) {
    curnm::cli::complain(error);
    return curnm::cli::kUsage;
  } catch (const curnm::UnusableRun& error) {
    curnm::cli::complain(error);
    return curnm::kUnusableRun;
  } catch (const curnm::DiskFull& error) {
    curnm::cli::complain(error);
    return curnm::kDiskIsFull;
  } catch (const std::bad_alloc&) {
    curnm::cli::say("curnm: not enough memory\n");
    return curnm::cli::kFailure;
  } catch (const std::exception& error) {
    // `curnm results ... | head` closes the pipe early: not an error.
    const auto* failed = dynamic_cast<const std::system_error*>(&error);
    if (failed != nullptr && failed->code() == std::errc::broken_pipe) {
      return curnm::cli::kClosedPipe;
    }
    curnm::cli::complain(error);
    const int signal = curnm::cli::received_signal();
    return signal == 0 ? curnm::cli::kFailure : 128 + signal;
  }
}
