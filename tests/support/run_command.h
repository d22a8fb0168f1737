#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace curnm::testing {

struct CommandResult {
  int exit_code = -1;  // 128 + signal when killed by one
  std::string out;
  std::string err;
};

/// Runs a shell command and collects what it printed.
inline CommandResult run_command(const std::string& command) {
  static int counter = 0;
  const auto err_file =
      std::filesystem::temp_directory_path() /
      ("curnm-stderr-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
  CommandResult result;
  FILE* pipe = ::popen(("( " + command + " ) 2>" + err_file.string()).c_str(), "r");
  if (pipe == nullptr) return result;
  char block[4096];
  while (const std::size_t got = std::fread(block, 1, sizeof block, pipe)) {
    result.out.append(block, got);
  }
  const int status = ::pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::ifstream err(err_file);
  result.err.assign(std::istreambuf_iterator<char>(err), {});
  std::filesystem::remove(err_file);
  return result;
}

}  // namespace curnm::testing
