#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "curnm/runs/run_folder.h"

namespace curnm {

/// Scalars of a training as TensorBoard reads them: an event file of records, each a protobuf
/// message between checksums. One file per process, in the folder that `tensorboard --logdir` is
/// given.
class TensorBoardLog {
 public:
  /// Creates the folder where it is missing. `first_epoch` is the one that this process begins
  /// with: TensorBoard then forgets what a process that was killed wrote from there on. Throws
  /// Error.
  TensorBoardLog(const std::filesystem::path& folder, std::int64_t first_epoch);

  /// Writes every number of an epoch's record. Throws Error.
  void add(const EpochRecord& record);
  /// Writes numbers by tag ("test/trans"), of that epoch. Throws Error.
  void add(std::int64_t epoch, const std::map<std::string, double>& scalars);

  const std::filesystem::path& path() const { return path_; }

 private:
  void write(std::string_view event);

  std::filesystem::path path_;
  std::ofstream file_;
};

/// The scalars of a record by tag: "validation/trans", "loss/link", "mining/pi", "seconds/mine".
std::map<std::string, double> scalars_of(const EpochRecord& record);

/// CRC-32C (Castagnoli) of the bytes, and the form in which event files keep it.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace curnm
