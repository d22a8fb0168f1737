#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "curnm/base/names.h"
#include "curnm/experiments/store.h"

namespace curnm::cli {

/// Throws UsageError for the name of an experiment that the store does not have.
inline void check_experiments(const ResultStore& store, const std::vector<std::string>& names) {
  const std::vector<std::string> known = store.experiments();
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    unknown_name("experiment", name, std::vector<std::string_view>(known.begin(), known.end()));
  }
}

}  // namespace curnm::cli
