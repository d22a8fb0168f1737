#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "curnm/base/names.h"
#include "curnm/experiments/store.h"

namespace curnm::cli {

/// Throws UsageError for a name that is not among the known ones.
inline void check_names(std::string_view kind, const std::vector<std::string>& names,
                        const std::vector<std::string>& known) {
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    unknown_name(kind, name, std::vector<std::string_view>(known.begin(), known.end()));
  }
}

/// Throw UsageError for names that the store does not have.
inline void check_experiments(const ResultStore& store, const std::vector<std::string>& names) {
  check_names("experiment", names, store.experiments());
}
inline void check_networks(const ResultStore& store, const std::vector<std::string>& names) {
  check_names("network", names, store.networks());
}

}  // namespace curnm::cli
