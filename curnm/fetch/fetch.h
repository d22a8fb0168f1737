#pragma once

#include <filesystem>
#include <string>

#include "curnm/data/catalog.h"
#include "curnm/data/dataset.h"
#include "curnm/data/unpack.h"
#include "curnm/fetch/download.h"

namespace curnm {

struct FetchOptions {
  /// Where downloads are kept, complete or not; all of it may be deleted between calls.
  std::filesystem::path cache;
  /// A mirror to use instead of the catalogue's address; if it ends in '/', the file name is
  /// appended.
  std::string url = {};
  /// A file that is already there, to be taken instead of a download. It is never removed.
  std::filesystem::path file = {};
  DownloadOptions download = {};
  UnpackLimits unpack = {};
};

/// Downloads a network of the catalogue, or takes it from the cache, and reads it. Its name becomes
/// the catalogue's, its source the address.
///
/// Throws Error as `download` does, and when the file is not a network or its counts differ from
/// those published (fewer nodes are only noted); the download is then removed, so that the next
/// call starts over.
Dataset fetch_network(const CatalogEntry& entry, const FetchOptions& options);

}  // namespace curnm
