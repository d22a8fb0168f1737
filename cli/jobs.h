#pragma once

#include <string_view>
#include <vector>

#include "curnm/experiments/job.h"

namespace curnm::cli {

/// As Vocabulary::resolve. Throws OptionError for options that `curnm train` would refuse.
void resolve_job(Job& job, const RunFlags& own);

/// The options that a job may have besides network, model, miner and seed.
std::vector<std::string> job_options();

}  // namespace curnm::cli
