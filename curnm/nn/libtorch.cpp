#include "curnm/nn/libtorch.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

namespace curnm {

std::string libtorch_version() { return TORCH_VERSION; }
bool libtorch_has_cuda() { return at::hasCUDA(); }
int libtorch_threads() { return at::get_num_threads(); }
void set_libtorch_threads(int threads) {
  // Setting what it is already would start a second pool of threads, of libraries that are not used
  // here, and those spin for tens of milliseconds on the cores that the first pool has to share.
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

}  // namespace curnm
