#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "curnm/distributed/group.h"

namespace curnm {

/// Memory that ranks of one host have in common: from now on they share the pages of the first of
/// them, and a page that somebody writes to becomes his own again. All ranks have to make this
/// call. Returns how many bytes this rank shares.
///
/// Nothing changes for a program but its memory: stretches whose bytes differ stay as they are, and
/// so do all where processes cannot see each other, as in containers of their own.
/// REQUIRES: as many stretches on every rank, of whole pages (base/pages.h), that nobody writes to
/// meanwhile.
std::size_t share_memory(Group& group, const std::vector<std::span<const std::byte>>& stretches);

}  // namespace curnm
