#include "cli/program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "cli/print.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/base/printable.h"
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

/// The flag that somebody who knows other programs may have meant: by its initials (--lr), as a
/// part or an extension of its name (--batch-size), or by what others call it.
std::string_view flag_meant(std::string_view word, const std::vector<std::string_view>& flags) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kElsewhere = {{
      {"--bs", "--batch"},
      {"--dim", "--width"},
      {"--hidden-dim", "--width"},
      {"--embedding-dim", "--width"},
      {"--num-epochs", "--epochs"},
      {"--n-epochs", "--epochs"},
      {"--num-neighbors", "--neighbors"},
      {"--num-workers", "--threads"},
      {"--gpu", "--device"},
      {"--cuda", "--device"},
      {"--output", "--out"},
      {"--negatives", "--miner"},
  }};
  for (const auto& [other, ours] : kElsewhere) {
    if (word == other && std::ranges::find(flags, ours) != flags.end()) return ours;
  }
  for (const std::string_view flag : flags) {
    std::string initials = "--";
    for (std::size_t i = 2; i < flag.size(); ++i) {
      if (flag[i - 1] == '-') initials += flag[i];
    }
    const bool extended =
        word.size() > flag.size() && word.starts_with(flag) && word[flag.size()] == '-';
    if (word == initials || extended) return flag;
  }
  if (const std::string_view near = nearest_name(word, flags); !near.empty()) return near;
  const auto begins = std::ranges::find_if(
      flags, [&](std::string_view flag) { return word.size() > 4 && flag.starts_with(word); });
  return begins == flags.end() ? std::string_view() : *begins;
}

/// The command as it is called: curnm bench step.
std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + app.get_name();
}

/// What was expected where a value could not be converted; "" if it is something else.
std::string expectation(const CLI::App& command) {
  const auto starts_number = [](const std::string& text, bool whole) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() &&
           (!whole || number == std::floor(number));
  };
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    const bool whole = type.starts_with("INT") || type.starts_with("UINT");
    if (!whole && !type.starts_with("FLOAT")) continue;
    for (const std::string& text : option->results()) {
      if (starts_number(text, whole)) continue;
      return fmt::format("{} {}: {} was expected", option->get_name(), text,
                         whole ? "a whole number" : "a number");
    }
  }
  return "";
}

/// `--separate-ids` was a flag without a value, and may still be written so.
std::vector<std::string> with_values(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--separate-ids") continue;
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    if (next != "auto" && next != "on" && next != "off") words[i] += "=on";
  }
  return words;
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
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const std::string_view meant = is_flag ? flag_meant(flag, known) : ""; !meant.empty()) {
    throw UsageError(
        fmt::format("unknown option '{}'; did you mean '{}'?\nRun '{} --help' for the "
                    "options.",
                    flag, meant, full_name(command)));
  }
  unknown_name(is_flag ? "option" : "command", is_flag ? flag : word, known);
}

/// Messages may quote files and arguments: what is no plain text does not reach the terminal.
void complain(const std::exception& error) {
  say("curnm: {}\n", printable(error.what(), /*most=*/10000, /*line_ends=*/true));
}

int run(int argc, char** argv, AddCommands add_commands) {
  CLI::App app{"Trains temporal graph networks with curriculum negative mining.", "curnm"};
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();
  int exit_code = 0;
  add_commands(app, exit_code);
  app.footer(
      "Examples:\n"
      "  curnm import events.csv --out network && curnm stats network\n"
      "  curnm train synthetic:drift --model tgn --epochs 10 --out run && curnm eval run");
  try {
    std::vector<std::string> words = with_values(argc, argv);
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::Success& help_or_version) {
    if (app.get_subcommands().empty()) reject_leftovers(app);  // `curnm trian --help`
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    reject_leftovers(app);
    const std::string expected = expectation(innermost(app));
    throw UsageError(fmt::format("{}\nRun '{} --help' for the options.",
                                 expected.empty() ? error.what() : expected,
                                 full_name(innermost(app))));
  }
  return exit_code;
}

}  // namespace

int run_program(int argc, char** argv, AddCommands add_commands) {
  keep_freed_memory();
  explain_lost_files();
  // A closed pipe or a file size limit makes a write fail instead of killing the program: a
  // training can still save its state.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = run(argc, argv, add_commands);
    if (std::fflush(stdout) != 0) {
      throw std::system_error(errno, std::generic_category(),
                              "cannot write to the standard output");
    }
    return code;
  } catch (const UsageError& error) {
    complain(error);
    return kUsage;
  } catch (const UnusableRun& error) {
    complain(error);
    return kUnusableRun;
  } catch (const DiskFull& error) {
    complain(error);
    return kDiskIsFull;
  } catch (const std::bad_alloc&) {
    say("curnm: not enough memory\n");
    return kFailure;
  } catch (const std::exception& error) {
    // `curnm results ... | head` closes the pipe early: not an error.
    const auto* failed = dynamic_cast<const std::system_error*>(&error);
    if (failed != nullptr && failed->code() == std::errc::broken_pipe) {
      return kClosedPipe;
    }
    complain(error);
    const int signal = received_signal();
    return signal == 0 ? kFailure : 128 + signal;
  }
}

}  // namespace curnm::cli
