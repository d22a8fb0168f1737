#pragma once

#include <filesystem>

#include "curnm/experiments/result_set.h"

namespace curnm {

/// Reads a run's folder (options.json, metrics.jsonl and, once it has ended, result.json). The
/// state is kDone with a result, else kPaused. Throws Error if there is no folder, UnusableRun if
/// it is not a run or is damaged.
RunResult read_run_folder(const std::filesystem::path& folder);

}  // namespace curnm
