#pragma once

#include <atomic>

namespace curnm {

/// Called now and then by everything that may take long (reading, replays, evaluations), between
/// two pieces of work. What it throws ends that call: a program around the library, such as Python,
/// thereby lets a user interrupt it. Null, as it is at first, does nothing. Trainings ask their
/// TrainObserver instead, which lets them stop in good order.
inline std::atomic<void (*)()> interrupt_check{nullptr};

inline void check_interrupt() {
  if (void (*check)() = interrupt_check.load(std::memory_order_relaxed)) check();
}

}  // namespace curnm
