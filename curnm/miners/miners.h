#pragma once

#include "curnm/miners/miner.h"

// The miners, one file each.

namespace curnm {

std::shared_ptr<NegativeMiner> make_random(const MinerContext& context);

}  // namespace curnm
