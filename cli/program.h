#pragma once

#include <CLI/CLI.hpp>

namespace curnm::cli {

/// Declares subcommands. `exit_code` is the program's unless an error ends it.
using AddCommands = void (*)(CLI::App& app, int& exit_code);

/// Does what the arguments ask for and explains what went wrong. Returns the exit code.
int run_program(int argc, char** argv, AddCommands add_commands);

}  // namespace curnm::cli
