#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/experiments/job.h"

// Experiment files: grids of trainings, in YAML. docs/experiments.md explains the keys.

namespace curnm {

/// The names that an experiment may use, and what they mean.
struct Vocabulary {
  std::vector<std::string_view> models;
  std::vector<std::string_view> miners;
  std::vector<std::string_view> flags;  // of `curnm train`, without dashes
  /// Those that say how a table is read, which belong to a network.
  std::vector<std::string_view> read_flags = {};
  /// Resolves the job's flags, and drops shared ones that have no effect on it. Throws OptionError
  /// for flags that conflict, and for one of its own flags without effect.
  std::function<void(Job&, const RunFlags& own)> resolve;
};

struct Experiment {
  std::string name;
  std::string title;
  std::vector<Job> jobs;  // in the file's order, each once
};

/// Throws UsageError with line and column for broken YAML, unknown keys and names (with the nearest
/// known one), empty lists, values of the wrong kind.
Experiment parse_experiment(std::string_view yaml, const std::string& file,
                            const Vocabulary& vocabulary);
Experiment read_experiment(const std::filesystem::path& file, const Vocabulary& vocabulary);

}  // namespace curnm
