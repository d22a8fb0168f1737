#pragma once

#include <string_view>
#include <vector>

#include "curnm/data/reader.h"
#include "curnm/experiments/job.h"

namespace curnm::cli {

/// As Vocabulary::resolve. Throws OptionError for options that `curnm train` would refuse.
void resolve_job(Job& job, const RunFlags& own);

/// The options that a job may have besides network, model, miner and seed.
std::vector<std::string> job_options();
/// Those that say how its network is read, if that is a raw table.
std::vector<std::string> job_read_options();

/// How the network of a job is read. Throws OptionError for a value that is none.
ReadOptions read_options_of(const Job& job);

}  // namespace curnm::cli
