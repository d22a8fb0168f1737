#pragma once

#include <functional>
#include <optional>
#include <string>

#include "curnm/distributed/group.h"

// How processes that somebody else has started find out which rank they are.

namespace curnm {

/// The value of an environment variable; null if there is none.
using Environ = std::function<const char*(const char*)>;

/// The place of this process among those that a launcher has started: torchrun and everything that
/// sets RANK and WORLD_SIZE, srun, Open MPI or MPICH. Empty if there is no launcher, or it has
/// started one process only. Throws UsageError for settings that contradict each other or are
/// incomplete.
std::optional<Placement> placement_by_launcher(const Environ& environ);

/// The first host of a list as SLURM writes them: "node[07-09,12],login" is "node07".
std::string first_host(const std::string& hosts);

}  // namespace curnm
