#pragma once

#include "curnm/base/parallel.h"

namespace curnm::testing {

/// Sets another number of threads for a scope.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads) : before_(num_threads()) { set_num_threads(threads); }
  ~ScopedThreads() { set_num_threads(before_); }
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int before_;
};

}  // namespace curnm::testing
