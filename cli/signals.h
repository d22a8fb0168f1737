#pragma once

namespace curnm::cli {

/// From now on the first SIGHUP, SIGINT or SIGTERM is remembered instead of ending the program; a
/// second one ends it. An ignored SIGHUP stays ignored: under nohup the work must continue.
void watch_signals();

/// A mapped file that becomes shorter under this program, or whose disk fails, ends it with exit
/// code 1 and a sentence instead of a bare signal. What was saved before is unharmed.
void explain_lost_files();

/// The signal received, or 0.
int received_signal();

}  // namespace curnm::cli
