#pragma once

#include <filesystem>

#include "curnm/training/run_spec.h"
#include "curnm/training/trainer.h"

namespace curnm {

/// Everything that a training is, at one instant.
TensorFile checkpoint_of(const Trainer& trainer, const RunSpec& spec);

/// The trainer is where the checkpoint was. Throws UnusableRun for one of another data set or with
/// other options.
void restore(const TensorFile& checkpoint, const RunSpec& spec, Trainer& trainer);

void save_checkpoint(const TensorFile& checkpoint, const std::filesystem::path& file);
/// Throws UnusableRun for a file that is damaged or of another version.
TensorFile load_checkpoint(const std::filesystem::path& file);
/// That of a run. Throws Error where it was stopped before its first one.
TensorFile read_checkpoint(const RunFolder& folder);

}  // namespace curnm
