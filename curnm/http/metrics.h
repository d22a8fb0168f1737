#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace curnm {

/// How long something took, as Prometheus counts it: how many took at most so long. Thread-safe.
class Histogram {
 public:
  static constexpr std::array<double, 14> kBounds = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                                     0.1,    0.2,   0.5,   1,     2,    5,    10};
  void observe(double seconds);
  /// The lines of one histogram; `labels` such as route="topk".
  std::string text(std::string_view name, std::string_view labels) const;
  std::int64_t count() const { return count_; }

 private:
  std::array<std::atomic<std::int64_t>, kBounds.size()> buckets_{};
  std::atomic<std::int64_t> count_ = 0;
  std::atomic<std::int64_t> microseconds_ = 0;
};

}  // namespace curnm
