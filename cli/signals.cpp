#include "cli/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace curnm::cli {
namespace {

std::atomic<int> received = 0;
std::atomic<std::int64_t> received_at = 0;  // milliseconds

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

/// Only what a signal handler may do.
extern "C" void remember_signal(int signal) {
  // timeout(1) and some shells signal a process and then its whole group: that is one request.
  constexpr std::int64_t kSameRequest = 500;
  if (received != 0 && now() - received_at > kSameRequest) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  if (received == 0) received_at = now();
  received = signal;
}

/// Only what a signal handler may do.
extern "C" void lost_file(int) {
  constexpr std::string_view kReason =
      "\ncurnm: a file in use has become shorter, or its disk fails; what was saved before is "
      "unharmed\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kReason.data(), kReason.size());
  ::_exit(1);
}

}  // namespace

void explain_lost_files() { std::signal(SIGBUS, lost_file); }

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = remember_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction of_hangup {};
  ::sigaction(SIGHUP, nullptr, &of_hangup);
  if (of_hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

int received_signal() { return received; }

}  // namespace curnm::cli
