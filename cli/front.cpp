#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/program.h"

// curnm, the program that people start: has the commands that do without LibTorch, which takes
// longer to load than they take, and starts curnm-torch for all others (docs/decisions.md, Two
// programs).

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

struct Command {
  const char* name;
  const char* summary = nullptr;         // of one that curnm-torch has, for the list of commands
  void (*add)(CLI::App& app) = nullptr;  // of one that this program has
};

/// In the order of the list. A test compares it with that of curnm-torch.
constexpr std::array kCommands = {
    Command{.name = "import", .add = &add_import},
    Command{.name = "generate", .add = &add_generate},
    Command{.name = "fetch", .add = &add_fetch},
    Command{.name = "stats", .add = &add_stats},
    Command{"train", "Train a model, and test it"},
    Command{"eval",
            "Test a trained run, or a rule without learning, again; or a model on what came after "
            "its training"},
    Command{.name = "negatives", .add = &add_negatives},
    Command{.name = "compare", .add = &add_compare},
    Command{"predict", "Score links with a trained model"},
    Command{"serve", "Answer questions over HTTP, and learn what happens"},
    Command{"embed", "Write the embeddings of all nodes at a time"},
    Command{"export", "Write one file with all that predictions need of a run"},
    Command{"experiment", "Run a grid of trainings, and go on where it was stopped"},
    Command{"tune", "Search for good options by validation AP or MRR, the paper's grid first"},
    Command{"results", "List the runs of a store"},
    Command{.name = "report", .add = &add_report},
    Command{"bench", "Measure speed on this machine"},
    Command{"list", "Show what there is to choose from"},
    Command{"doctor", "Check that this machine will be fast"},
};

void add_commands(CLI::App& app, int&) {
  for (const Command& command : kCommands) {
    command.add != nullptr ? command.add(app)
                           : void(app.add_subcommand(command.name, command.summary));
  }
}

/// Whether this program has what is asked for. Unknown words go to curnm-torch, which knows every
/// name that may have been meant.
bool is_for_us(std::string_view word) {
  if (word == "--help" || word == "-h" || word == "--version") return true;
  return std::ranges::any_of(kCommands, [&](const Command& command) {
    return command.add != nullptr && word == command.name;
  });
}

/// Becomes curnm-torch: beside this program as it is built, in libexec as it is installed. Returns
/// the exit code of a failure.
int become_curnm_torch(char** argv) {
  // libgomp reads this when it is loaded; docs/decisions.md, Threads.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    ::setenv("GOMP_SPINCOUNT", "10000", /*overwrite=*/0);
  }
  std::error_code unknown;
  const fs::path folder = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  const std::array places = {folder / "curnm-torch",
                             (folder / CURNM_LIBEXEC / "curnm-torch").lexically_normal()};
  for (const fs::path& place : places) {
    ::execv(place.c_str(), argv);  // returns only on failure
    if (errno == ENOENT) continue;
    say("curnm: cannot start {}: {}\n", place.string(), std::generic_category().message(errno));
    return 1;
  }
  say("curnm: this command needs the program curnm-torch, which is neither {} nor {}: the two "
      "belong together, so copy or install both\n",
      places[0].string(), places[1].string());
  return 1;
}

}  // namespace
}  // namespace curnm::cli

int main(int argc, char** argv) {
  if (argc > 1 && !curnm::cli::is_for_us(argv[1])) return curnm::cli::become_curnm_torch(argv);
  return curnm::cli::run_program(argc, argv, &curnm::cli::add_commands);
}
