#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace curnm::cli {

ProgressBar::ProgressBar() : visible_(::isatty(STDERR_FILENO) == 1) {}

bool ProgressBar::is_due(bool last) {
  if (!visible_ || (!last && watch_.seconds() < next_)) return false;
  next_ = watch_.seconds() + 0.1;
  return true;
}

void ProgressBar::draw(double share, const std::string& text) {
  drawn_ = true;
  if (share < 0) {
    say("\r{} ", text);
    return;
  }
  constexpr std::size_t kWidth = 30;
  const auto full = static_cast<std::size_t>(std::min(share, 1.0) * kWidth);
  say("\r[{}{}] {:3.0f} % {} ", std::string(full, '#'), std::string(kWidth - full, '.'),
      100 * share, text);
}

void ProgressBar::end() {
  if (std::exchange(drawn_, false)) say("\n");
}

}  // namespace curnm::cli
