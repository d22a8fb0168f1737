#include "cli/signals.h"

#include <atomic>
#include <csignal>

namespace curnm::cli {
namespace {

std::atomic<int> received = 0;
extern "C" void remember_signal(int signal) { received = signal; }

}  // namespace

SignalWatch::SignalWatch() {
  struct sigaction action {};
  action.sa_handler = remember_signal;
  action.sa_flags = SA_RESETHAND;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

int received_signal() { return received; }

}  // namespace curnm::cli
