#include "cli/process.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"
#include "curnm/nn/libtorch.h"

namespace curnm::cli {

constexpr int kMostThreads = 1024;

/// One question to `predict` takes less time than a restart.
static bool takes_long(char** argv) {
  const std::string_view command = argv[1];
  if (command != "predict") return command == "train" || command == "eval" || command == "bench";
  for (char** word = argv + 2; *word != nullptr; ++word) {
    const std::string_view flag = *word;
    if (flag.starts_with("--sources") || flag.starts_with("--pairs")) return true;
  }
  return false;
}

void sleep_while_waiting(char** argv) {
  // libgomp reads its environment when it is loaded, before main: hence the second start.
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (argv[1] == nullptr || !takes_long(argv)) return;
  ::setenv("GOMP_SPINCOUNT", "10000", /*overwrite=*/1);
  ::execv("/proc/self/exe", argv);  // returns only on failure: then continue without the setting
}

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

void set_threads(std::int64_t threads) {
  if (threads < 0 || threads > kMostThreads) {
    throw UsageError(fmt::format("--threads {} must be between 0 and {}", threads, kMostThreads));
  }
  const int count = threads > 0 ? static_cast<int>(threads) : default_threads();
  set_num_threads(count);
  set_libtorch_threads(count);
}

}  // namespace curnm::cli
