#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "curnm/evaluation/scorer.h"
#include "curnm/evaluation/task.h"

namespace curnm {

/// A scorer without parameters. A trained model that does not beat the best of them on a protocol
/// has learned nothing there.
struct BaselineEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Scorer> (*make)(const LinkTask& task);
  /// The same without a task; null for a rule that is fitted to training events, or that depends on
  /// how long the test is.
  std::unique_ptr<Scorer> (*make_of_past)(const Past& past) = nullptr;
};
std::span<const BaselineEntry> baselines();

/// Throws UsageError for an unknown name. REQUIRES: the task outlives the scorer.
std::unique_ptr<Scorer> make_baseline(std::string_view name, const LinkTask& task);

}  // namespace curnm
