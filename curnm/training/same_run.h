#pragma once

#include "curnm/distributed/group.h"
#include "curnm/evaluation/task.h"
#include "curnm/training/run_spec.h"

namespace curnm {

/// Throws Error, the same on all ranks, unless all have the same program, data and options: it
/// names what differs first, and on which rank.
void check_same_run(Group& group, const RunSpec& spec, const LinkTask& task);

/// The first difference between two such descriptions, by its name, and the two values; empty if
/// there is none.
std::string first_difference(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

}  // namespace curnm
