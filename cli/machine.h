#pragma once

#include "curnm/experiments/result_set.h"

namespace curnm::cli {

/// What this program runs on: the record that goes with every result.
Environment this_machine();

}  // namespace curnm::cli
