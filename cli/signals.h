#pragma once

namespace curnm::cli {

/// From now on the first SIGHUP, SIGINT or SIGTERM is remembered instead of ending the program; a
/// second one ends it. A SIGHUP that is ignored stays so: nohup wants the work to go on.
void watch_signals();

/// The signal received, or 0.
int received_signal();

}  // namespace curnm::cli
