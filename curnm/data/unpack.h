#pragma once

#include <filesystem>

#include "curnm/base/error.h"

namespace curnm {

/// An archive that is damaged, or that no honest person made.
class DamagedArchive : public Error {
 public:
  using Error::Error;
};

/// By its content, whatever its name.
bool is_zip(const std::filesystem::path& file);

/// Unpacks files and folders below `folder`, which exists. Throws DamagedArchive, also for entries
/// of other kinds or with a way out of the folder; Error when the disk or libarchive cannot.
void unpack_zip(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace curnm
