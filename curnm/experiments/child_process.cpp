#include "curnm/experiments/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "curnm/base/error.h"

namespace curnm {
namespace {

constexpr int kCannotStart = 127;

/// Between fork and exec: nothing that allocates or locks.
[[noreturn]] void become(char* const* argv, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotStart);  // it died before the line above
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  ::execv(argv[0], argv);
  ::_exit(kCannotStart);
}

}  // namespace

std::string describe(const Exit& exit) {
  if (exit.signal != 0) {
    return fmt::format("killed by signal {} ({})", exit.signal, ::strsignal(exit.signal));
  }
  return fmt::format("exit code {}", exit.code);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::filesystem::path& log) {
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) fail("cannot write {}: {}", log.string(), os_reason(errno));
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(argv.data(), file, parent);
  const int error = errno;
  ::close(file);
  if (pid_ < 0) fail("cannot start {}: {}", command.front(), os_reason(error));
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
