#pragma once

#include "curnm/miners/miner.h"

// The miners, one file each.

namespace curnm {

using MakeMiner = std::shared_ptr<NegativeMiner>(const MinerOptions&, const MinerContext&);

MakeMiner make_random;
MakeMiner make_recent;
MakeMiner make_ens;
MakeMiner make_taser;
MakeMiner make_curnm;

}  // namespace curnm
