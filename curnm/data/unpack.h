#pragma once

#include <cstdint>
#include <filesystem>

#include "curnm/base/error.h"

namespace curnm {

/// An archive that is damaged or malicious.
class DamagedArchive : public Error {
 public:
  using Error::Error;
};

/// How much may come out of an archive: a few megabytes can unpack to terabytes.
struct UnpackLimits {
  std::int64_t bytes = 0;       // in all; 0: by the size of the archive
  std::int64_t entries = 1000;  // files and folders

  /// Tables are packed to a tenth, constant columns to a hundredth.
  static constexpr std::int64_t kRatio = 50;
  static constexpr std::int64_t kAlways = std::int64_t{256} << 20;
  static constexpr std::int64_t kMost = std::int64_t{20} << 30;

  std::int64_t bytes_of(std::int64_t archive_bytes) const;
};

/// Detected by content, whatever its name.
bool is_zip(const std::filesystem::path& file);

/// Unpacks files and folders below `folder`, which exists. Throws DamagedArchive, also for entries
/// of other kinds or with paths that lead out of the folder; Error if the disk or libarchive fails,
/// or if the archive is larger than the limits allow. Nothing is written through links.
void unpack_zip(const std::filesystem::path& file, const std::filesystem::path& folder,
                const UnpackLimits& limits = {});

}  // namespace curnm
