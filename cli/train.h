#pragma once

#include <string_view>
#include <vector>

#include "curnm/experiments/job.h"
#include "curnm/training/run.h"

namespace curnm::cli {

/// What `curnm train` would do for a job. Throws UsageError for flags that it would refuse.
RunSpec checked_run(const Job& job);

/// As Vocabulary::settle. Throws as checked_run does.
void settle(Job& job, const RunFlags& own);

/// The flags that a job may have: those that decide what a run computes.
std::vector<std::string_view> flags_of_runs();

}  // namespace curnm::cli
