#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace curnm {

/// How a process ended.
struct Exit {
  int code = 0;    // if it exited by itself
  int signal = 0;  // if a signal ended it
};
/// "exit code 3", "killed by signal 9 (Killed)".
std::string describe(const Exit& exit);

/// The file that a program's output is appended to. One program at a time owns it, for as long as
/// that program runs, even if its parent dies.
class OutputLog {
 public:
  /// Empty while another program owns it. Throws Error when it cannot be opened.
  static std::optional<OutputLog> take(const std::filesystem::path& file);
  ~OutputLog();
  OutputLog(OutputLog&& other) noexcept;
  OutputLog& operator=(OutputLog&&) = delete;

  int descriptor() const { return descriptor_; }
  /// Where the output of the next program begins.
  std::int64_t size() const;

 private:
  explicit OutputLog(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// A running program. It gets SIGTERM when this process dies for any reason; signals from the
/// terminal do not reach it.
class ChildProcess {
 public:
  /// The first word of the command is only a display name; `program` is executed. Throws Error when
  /// it cannot be started.
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& command,
               const OutputLog& log);
  /// How it ended; empty while it runs.
  std::optional<Exit> poll();
  void request_stop();

 private:
  pid_t pid_;
};

}  // namespace curnm
