#pragma once

#include <cstdint>

namespace curnm::cli {

/// Threads of the core and of LibTorch; 0 means all cores.
void set_threads(std::int64_t threads);

}  // namespace curnm::cli
