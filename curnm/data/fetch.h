#pragma once

#include <filesystem>
#include <string>

#include "curnm/data/catalog.h"
#include "curnm/data/dataset.h"
#include "curnm/data/download.h"

namespace curnm {

struct FetchOptions {
  /// Where downloads are kept, complete or not; all of it may be deleted between calls.
  std::filesystem::path cache;
  /// A mirror, instead of the catalogue's address; one that ends in '/' holds a file of that name.
  std::string url = {};
  DownloadOptions download = {};
};

/// Downloads a network of the catalogue, or takes it from the cache, and reads it. Its name becomes
/// the catalogue's, its source the address.
///
/// Throws Error as `download` does, and when the file is no network or has other counts than
/// published (fewer nodes are noted only); then the download is removed, so that the next call
/// starts over.
Dataset fetch_network(const CatalogEntry& entry, const FetchOptions& options);

}  // namespace curnm
