#pragma once

#include <CLI/CLI.hpp>

// One function per subcommand, each in its own file: it declares the flags and sets the callback
// that does the work. Results go to stdout, progress and notes to stderr; errors are exceptions.

namespace curnm::cli {

void add_import(CLI::App& app);
void add_generate(CLI::App& app);
void add_fetch(CLI::App& app);
void add_stats(CLI::App& app);
void add_bench(CLI::App& app);
void add_eval(CLI::App& app);
void add_negatives(CLI::App& app);
void add_compare(CLI::App& app);
void add_predict(CLI::App& app);
void add_serve(CLI::App& app);
void add_embed(CLI::App& app);
void add_export(CLI::App& app);
void add_list(CLI::App& app);
void add_doctor(CLI::App& app);
/// `exit_code` is set to 130 or 143 when a signal ended the training.
void add_train(CLI::App& app, int& exit_code);
/// The same; 1 where runs failed.
void add_experiment(CLI::App& app, int& exit_code);
void add_tune(CLI::App& app, int& exit_code);
void add_results(CLI::App& app);
void add_report(CLI::App& app);

}  // namespace curnm::cli
