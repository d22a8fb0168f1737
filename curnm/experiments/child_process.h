#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace curnm {

/// How a process ended.
struct Exit {
  int code = 0;    // where it ended by itself
  int signal = 0;  // where a signal ended it
};
/// "exit code 3", "killed by signal 9 (Killed)".
std::string describe(const Exit& exit);

/// A program that was started. It is asked to stop (SIGTERM) when this process dies, however it
/// dies; signals of the terminal do not reach it.
class ChildProcess {
 public:
  /// Output of either kind is appended to the log. Throws Error when it cannot be started.
  ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& log);
  /// How it ended; nothing while it runs.
  std::optional<Exit> poll();
  void request_stop();

 private:
  pid_t pid_;
};

}  // namespace curnm
