#include "curnm/nn/libtorch.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

namespace curnm {

std::string libtorch_version() { return TORCH_VERSION; }
bool libtorch_has_cuda() { return at::hasCUDA(); }
int libtorch_threads() { return at::get_num_threads(); }
void set_libtorch_threads(int threads) { at::set_num_threads(threads); }

}  // namespace curnm
