#pragma once

#include <string>

// The LibTorch that this program runs with, for code that needs nothing else from it.

namespace curnm {

std::string libtorch_version();
bool libtorch_has_cuda();
int libtorch_threads();
/// REQUIRES: the core's number has not been changed on this thread since the last call.
void set_libtorch_threads(int threads);

}  // namespace curnm
