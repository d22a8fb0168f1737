#include "curnm/experiments/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "curnm/base/error.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/files.h"

namespace curnm {
namespace {

constexpr int kCannotStart = 127;

/// Runs between fork and exec: must not allocate or lock.
[[noreturn]] void exec_child(const char* program, char* const* argv, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotStart);  // the parent died before prctl
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  ::execv(program, argv);
  ::_exit(kCannotStart);
}

}  // namespace

std::string describe(const Exit& exit) {
  if (exit.signal != 0) {
    return fmt::format("killed by signal {} ({})", exit.signal, ::strsignal(exit.signal));
  }
  return fmt::format("exit code {}", exit.code);
}

std::optional<OutputLog> OutputLog::take(const std::filesystem::path& file) {
  OutputLog log(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log.descriptor_ < 0) fail_os("cannot write " + file.string(), errno);
  // The lock belongs to the open file, which a program inherits as its output.
  if (!lock_file(log.descriptor_)) return std::nullopt;
  return log;
}

OutputLog::~OutputLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

OutputLog::OutputLog(OutputLog&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::int64_t OutputLog::size() const {
  struct stat status {};
  ::fstat(descriptor_, &status);
  return status.st_size;
}

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& command, const OutputLog& log) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) exec_child(program.c_str(), argv.data(), log.descriptor(), parent);
  if (pid_ < 0) fail_os("cannot start " + program.string(), errno);
}

std::optional<Exit> ChildProcess::poll() {
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended != pid_) return std::nullopt;
  if (WIFSIGNALED(status)) return Exit{.signal = WTERMSIG(status)};
  return Exit{.code = WEXITSTATUS(status)};
}

void ChildProcess::request_stop() { ::kill(pid_, SIGTERM); }

}  // namespace curnm
