#pragma once

#include <cstdint>
#include <string>

#include "curnm/runs/run_folder.h"

namespace curnm {

/// Follows a training: progress bars, logs, signals.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_batch(std::int64_t /*epoch*/, std::int64_t /*done*/, std::int64_t /*of*/) {}
  virtual void on_epoch(const EpochRecord&) {}
  /// A remark for the user about this training, reported once.
  virtual void on_note(const std::string&) {}
  /// True: stop after the current batch.
  virtual bool stop_requested() { return false; }
};

/// For trainings that nobody follows.
inline TrainObserver& nobody() {
  static TrainObserver observer;
  return observer;
}

}  // namespace curnm
