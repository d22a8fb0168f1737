#include "cli/process.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "curnm/base/error.h"

namespace curnm::cli {

constexpr int kMostThreads = 1024;

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/// OMP_NUM_THREADS, of whose list the first counts; otherwise all cores.
static int default_threads() {
  const char* variable = std::getenv("OMP_NUM_THREADS");
  const std::string_view text = variable == nullptr ? "" : variable;
  int count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  if (count > 0) return std::min(count, kMostThreads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int thread_count(std::int64_t threads) {
  if (threads < 0 || threads > kMostThreads) {
    throw UsageError(fmt::format("--threads {} must be between 0 and {}", threads, kMostThreads));
  }
  return threads > 0 ? static_cast<int>(threads) : default_threads();
}

}  // namespace curnm::cli
