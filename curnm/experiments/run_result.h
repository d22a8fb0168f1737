#pragma once

#include <filesystem>

#include "curnm/experiments/result_set.h"

namespace curnm {

/// What a run's folder tells (options.json, metrics.jsonl and, once it is over, result.json). Its
/// state is kDone with a result, else kPaused. Throws Error where there is none, UnusableRun
/// for one that is no run or is damaged.
RunResult read_run_folder(const std::filesystem::path& folder);

}  // namespace curnm
