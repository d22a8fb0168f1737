#pragma once

#include <string>

#include "curnm/fetch/fetch.h"

namespace curnm::cli {

/// $XDG_CACHE_HOME/curnm, or ~/.cache/curnm.
std::string default_cache();

/// `fetch_network` with a progress bar on a terminal; prints its notes.
Dataset fetch_with_bar(const CatalogEntry& entry, FetchOptions options);

}  // namespace curnm::cli
