#pragma once

#include <cstdint>

// How this process uses the machine.

namespace curnm::cli {

/// Restarts a compute-heavy command once, so that waiting threads soon sleep instead of spinning.
/// Does nothing if the environment already says how threads should wait. Call it first.
///
/// OpenMP's threads spin for milliseconds at every barrier by default. Where the cores are shared
/// with anything else, two of them may take turns spinning on one core: an epoch next to a single
/// compiler process takes many times as long (docs/decisions.md, Threads).
void sleep_while_waiting(char** argv);

/// Keeps freed memory for the next step instead of giving it back to the system: a step allocates
/// the same large matrices again and again, and fresh pages cost more than the work on them.
void keep_freed_memory();

/// Threads of the core and of LibTorch; 0 means OMP_NUM_THREADS, or all cores without it.
void set_threads(std::int64_t threads);

}  // namespace curnm::cli
