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
  int code = 0;    // where it ended by itself
  int signal = 0;  // where a signal ended it
};
/// "exit code 3", "killed by signal 9 (Killed)".
std::string describe(const Exit& exit);

/// The file that a program's output is appended to. It belongs to one program at a time, as long as
/// that lives, whatever becomes of those who started it.
class OutputLog {
 public:
  /// Nothing while another program has it. Throws Error when it cannot be opened.
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

/// A program that was started. It is asked to stop (SIGTERM) when this process dies, however it
/// dies; signals of the terminal do not reach it.
class ChildProcess {
 public:
  /// The first word of the command is a name for people; `program` is what is run. Throws Error
  /// when it cannot be started.
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& command,
               const OutputLog& log);
  /// How it ended; nothing while it runs.
  std::optional<Exit> poll();
  void request_stop();

 private:
  pid_t pid_;
};

}  // namespace curnm
