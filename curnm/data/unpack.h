#pragma once

#include <filesystem>

#include "curnm/base/error.h"

namespace curnm {

/// An archive that is damaged or malicious.
class DamagedArchive : public Error {
 public:
  using Error::Error;
};

/// Detected by content, whatever its name.
bool is_zip(const std::filesystem::path& file);

/// Unpacks files and folders below `folder`, which exists. Throws DamagedArchive, also for entries
/// of other kinds or with paths that lead out of the folder; Error if the disk or libarchive fails.
void unpack_zip(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace curnm
