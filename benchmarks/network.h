#pragma once

#include <map>

#include "curnm/data/synthetic.h"

namespace curnm::benchmarks {

/// A synthetic network of about that many events, 50 per node, made once per size.
inline const Dataset& network(std::int64_t events) {
  static std::map<std::int64_t, Dataset> made;
  auto found = made.find(events);
  if (found == made.end()) {
    const SyntheticOptions options{.nodes = std::max<std::int64_t>(events / 50, 50),
                                   .events = events};
    found = made.emplace(events, generate(options, "benchmark")).first;
  }
  return found->second;
}

}  // namespace curnm::benchmarks
