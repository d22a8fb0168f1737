#pragma once

#include <cstdint>

namespace curnm {

/// Which epoch was the best, and whether it is time to stop.
class EarlyStopping {
 public:
  /// `tolerance`: the relative improvement that counts.
  EarlyStopping(std::int64_t patience, double tolerance)
      : patience_(patience), tolerance_(tolerance) {}

  /// Takes the metric of an epoch; true if it is the best so far.
  bool record(std::int64_t epoch, double metric) {
    if (has_best() && !(metric > best_metric_ * (1 + tolerance_))) return false;
    restore(epoch, metric);
    return true;
  }
  /// Have there been more epochs than patience since the best one?
  bool should_stop(std::int64_t next_epoch) const {
    return has_best() && next_epoch - best_epoch_ > patience_;
  }

  bool has_best() const { return best_epoch_ >= 0; }
  std::int64_t best_epoch() const { return best_epoch_; }
  double best_metric() const { return best_metric_; }
  void restore(std::int64_t best_epoch, double best_metric) {
    best_epoch_ = best_epoch;
    best_metric_ = best_metric;
  }

 private:
  std::int64_t patience_;
  double tolerance_;
  std::int64_t best_epoch_ = -1;
  double best_metric_ = 0;
};

}  // namespace curnm
