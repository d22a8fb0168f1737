#pragma once

#include <string>

#include "cli/print.h"

namespace curnm::cli {

/// A bar on stderr that is redrawn in place, at most ten times a second; nothing unless stderr is a
/// terminal.
class ProgressBar {
 public:
  /// Whether to draw now; always for the last time.
  bool is_due(bool last);
  /// [####......]  40 % and the text; a share below 0 is unknown, and only the text is drawn.
  void draw(double share, const std::string& text);
  /// Ends the line, if one was begun: before anything else is said.
  void end();
  double seconds() const { return watch_.seconds(); }
  ~ProgressBar() { end(); }

  ProgressBar();
  ProgressBar(const ProgressBar&) = default;
  ProgressBar& operator=(const ProgressBar&) = default;

 private:
  bool visible_;
  bool drawn_ = false;
  Stopwatch watch_;
  double next_ = 0;
};

}  // namespace curnm::cli
