#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/program.h"

// curnm-torch: all commands. People start `curnm` (front.cpp), which starts this program where
// LibTorch is needed.

namespace curnm::cli {
namespace {

void add_commands(CLI::App& app, int& exit_code) {
  add_import(app);
  add_generate(app);
  add_fetch(app);
  add_stats(app);
  add_train(app, exit_code);
  add_eval(app);
  add_negatives(app);
  add_compare(app);
  add_predict(app);
  add_serve(app);
  add_embed(app);
  add_export(app);
  add_experiment(app, exit_code);
  add_tune(app, exit_code);
  add_results(app);
  add_report(app);
  add_bench(app);
  add_list(app);
  add_doctor(app);
}

}  // namespace
}  // namespace curnm::cli

int main(int argc, char** argv) {
  const int code = curnm::cli::run_program(argc, argv, &curnm::cli::add_commands);
  // Everything is written and closed. LibTorch would take its time to undo what it did when it was
  // loaded (docs/decisions.md, Two programs).
  std::fflush(nullptr);
  std::_Exit(code);
}
