#pragma once

#include <filesystem>

#include "curnm/training/run_spec.h"
#include "curnm/training/trainer.h"

namespace curnm {

/// The complete state of a training. All its ranks have to call it; rank 0 gets the state of all.
TensorFile checkpoint_of(const Trainer& trainer, const RunSpec& spec);

/// Restores the trainer, on each of its ranks, to that state. A state of another number of ranks is
/// continued from its weights; returns remarks on what is lost then. Throws UnusableRun for a
/// checkpoint of another data set, with other options, or whose contents are impossible: a digest
/// does not show who wrote them.
std::vector<std::string> restore(const TensorFile& checkpoint, const RunSpec& spec,
                                 Trainer& trainer);

void save_checkpoint(const TensorFile& checkpoint, const std::filesystem::path& file);
/// Throws UnusableRun for a file that is damaged or of another version.
TensorFile load_checkpoint(const std::filesystem::path& file);
/// The checkpoint of a run. Throws Error if it was stopped before writing one.
TensorFile read_checkpoint(const RunFolder& folder);

}  // namespace curnm
