#pragma once

#include <string_view>
#include <vector>

#include "curnm/experiments/job.h"

namespace curnm::cli {

/// As Vocabulary::settle. Throws UsageError for flags that `curnm train` would refuse.
void settle(Job& job, const RunFlags& own);

/// The flags that a job may have: those that decide what a run computes.
std::vector<std::string_view> flags_of_runs();

}  // namespace curnm::cli
