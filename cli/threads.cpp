#include "cli/process.h"
#include "curnm/base/parallel.h"
#include "curnm/nn/libtorch.h"

namespace curnm::cli {

void set_threads(std::int64_t threads) {
  const int count = thread_count(threads);
  set_libtorch_threads(count);  // before the core's, which it may change
  set_num_threads(count);
}

}  // namespace curnm::cli
