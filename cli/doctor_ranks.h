#pragma once

#include "cli/ranks.h"

namespace curnm::cli {

/// Measures latency and bandwidth between ranks: those of a launcher, or as many as the flags say
/// on this host. Rank 0 prints.
void examine_links(const RankFlags& flags, bool json);

}  // namespace curnm::cli
