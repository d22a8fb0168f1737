#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "curnm/curriculum/options.h"

namespace curnm {

// The schedule of the difficulty: CurNM's equations about epochs, numbered as in the paper. Epochs
// e count from 1.

/// Where a quantity stands at epoch e of `length`: increasing min(e/length, 1), decreasing
/// max(0, 1 - e/length), constant 0.5.
double trend(Trend schedule, std::int64_t e, std::int64_t length);

/// Eq. (2): C_e, whether hard negatives are cached.
bool caches(double pi, double tau);

/// Has the metric risen above the mean of its recent values? False for the first one: there is
/// nothing to compare with.
bool improves(double metric, std::span<const double> recent);

/// Eq. (5): pi of the next epoch, within [pi_min, 1].
double next_pi(double pi, bool improved, const CurnmOptions& options);

/// delta_e, the weight of random negatives.
double random_weight(double pi, const CurnmOptions& options);

/// How hard one epoch is.
struct Difficulty {
  double pi = 1;         // share of the pool that is selected
  double delta = 1;      // weight of random against selected negatives
  double alpha = 0;      // weight of the deviation when hard negatives are kept
  double beta = 0;       // weight of relevant against irrelevant factors
  bool caching = false;  // C_e
};

/// pi_e over a training, and the quantities derived from it.
class Curriculum {
 public:
  /// REQUIRES: `complete` has been called on the options.
  explicit Curriculum(const CurnmOptions& options);

  /// The difficulty of the current epoch e = 1, 2, ...: the one after the last `record`.
  Difficulty difficulty() const;
  /// Takes the metric at the end of the epoch and moves on to the next.
  void record(double metric);
  /// What `record` took last, if anything.
  std::optional<double> last_metric() const;

  std::vector<double> state() const;
  void set_state(std::span<const double> state);

 private:
  static constexpr std::size_t kWindow = 3;  // epochs that progress is measured against

  CurnmOptions options_;
  double pi_;
  std::int64_t e_ = 1;
  std::vector<double> recent_;  // the last kWindow metrics, oldest first
};

}  // namespace curnm
