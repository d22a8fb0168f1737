#pragma once

#include "curnm/evaluation/task.h"
#include "curnm/training/observer.h"
#include "curnm/training/run_spec.h"

namespace curnm {

/// Fills in the options that depend on the network, which the observer is told about. Where a trial
/// decides, it runs here and may take seconds; throws Error if the observer stops it.
void complete(RunSpec& spec, const LinkTask& task, TrainObserver& observer);

}  // namespace curnm
