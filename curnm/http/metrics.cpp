#include "curnm/http/metrics.h"

#include <fmt/format.h>

namespace curnm {

void Histogram::observe(double seconds) {
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds[i]) {
      ++buckets_[i];
      break;
    }
  }
  ++count_;
  microseconds_ += static_cast<std::int64_t>(seconds * 1e6);
}

std::string Histogram::text(std::string_view name, std::string_view labels) const {
  std::string lines;
  std::int64_t so_far = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    so_far += buckets_[i];
    lines += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, kBounds[i], so_far);
  }
  const std::int64_t all = count_;
  lines += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, all);
  lines += fmt::format("{}_sum{{{}}} {}\n", name, labels, static_cast<double>(microseconds_) / 1e6);
  return lines + fmt::format("{}_count{{{}}} {}\n", name, labels, all);
}

}  // namespace curnm
