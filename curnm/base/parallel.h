#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace curnm {

/// How many threads `parallel_chunks` uses. The default is the number of cores.
inline int num_threads() { return omp_get_max_threads(); }
inline void set_num_threads(int threads) { omp_set_num_threads(threads); }

/// Cuts 0 .. n-1 into at most `chunks` nearly equal pieces and calls body(chunk, begin, end) for
/// each non-empty one, in parallel. The cut depends on (n, chunks) alone, never on timing. An
/// exception in a body is rethrown here, after every piece has ended.
template <class Body>
void parallel_chunks(std::int64_t n, int chunks, const Body& body) {
  chunks = static_cast<int>(std::clamp<std::int64_t>(n, 0, std::max(chunks, 1)));
  const auto bound = [&](int chunk) {
    return n / chunks * chunk + std::min<std::int64_t>(chunk, n % chunks);
  };
  if (n <= 0) return;
  if (chunks == 1) return body(0, std::int64_t{0}, n);

  std::exception_ptr error;
#pragma omp parallel for schedule(static, 1) num_threads(chunks) default(shared)
  for (int chunk = 0; chunk < chunks; ++chunk) {
    try {
      body(chunk, bound(chunk), bound(chunk + 1));
    } catch (...) {
#pragma omp critical(curnm_parallel_error)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

/// The usual loop: rows 0 .. n-1 in blocks of at least `grain`, one block per thread.
/// REQUIRES: what body does for a row depends on that row alone.
template <class Body>
void parallel_for(std::int64_t n, std::int64_t grain, const Body& body) {
  const std::int64_t blocks =
      std::min<std::int64_t>(num_threads(), n / std::max<std::int64_t>(grain, 1));
  parallel_chunks(n, static_cast<int>(std::max<std::int64_t>(blocks, 1)),
                  [&](int, std::int64_t begin, std::int64_t end) { body(begin, end); });
}

/// Cuts 0 .. n-1 into exactly `parts` nearly equal pieces and calls body(part, begin, end) for
/// each, on any number of threads: for sums that must not depend on how many there are.
template <class Body>
void parallel_parts(std::int64_t n, int parts, const Body& body) {
  parallel_for(parts, /*grain=*/1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      body(static_cast<int>(part), n * part / parts, n * (part + 1) / parts);
    }
  });
}

}  // namespace curnm
