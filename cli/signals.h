#pragma once

namespace curnm::cli {

/// From now on the first SIGHUP, SIGINT or SIGTERM is remembered instead of ending the program; a
/// second one ends it. An ignored SIGHUP stays ignored: under nohup the work must continue.
void watch_signals();

/// The signal received, or 0.
int received_signal();

}  // namespace curnm::cli
