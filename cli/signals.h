#pragma once

namespace curnm::cli {

/// While it lives, the first SIGINT or SIGTERM is remembered instead of ending the program; a
/// second one ends it.
class SignalWatch {
 public:
  SignalWatch();
};

/// The signal that came, or 0.
int received_signal();

}  // namespace curnm::cli
