#include "cli/threads.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <thread>

#include "curnm/base/error.h"
#include "curnm/base/parallel.h"

namespace curnm::cli {

void set_threads(std::int64_t threads) {
  if (threads < 0) throw UsageError(fmt::format("--threads {} must not be negative", threads));
  const int count = threads > 0
                        ? static_cast<int>(threads)
                        : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  set_num_threads(count);
  torch::set_num_threads(count);
}

}  // namespace curnm::cli
