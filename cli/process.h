#pragma once

#include <cstdint>

// How this process uses the machine.

namespace curnm::cli {

/// Keeps freed memory for the next step instead of giving it back to the system: a step allocates
/// the same large matrices again and again, and fresh pages cost more than the work on them.
void keep_freed_memory();

/// What --threads asks for: 0 means OMP_NUM_THREADS, or all cores without it. Throws UsageError.
int thread_count(std::int64_t threads);
/// The same for the threads of the core and of LibTorch. For curnm-torch alone.
void set_threads(std::int64_t threads);

}  // namespace curnm::cli
