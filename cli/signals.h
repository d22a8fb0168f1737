#pragma once

namespace curnm::cli {

/// From now on the first SIGINT or SIGTERM is remembered instead of ending the program; a second
/// one ends it.
void watch_signals();

/// The signal that came, or 0.
int received_signal();

}  // namespace curnm::cli
