#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace curnm {

/// The bytes of a file, mapped read-only. Throws Error when it cannot be opened.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

/// The bytes of a file, copied: for files that others may change while they are in use, which a
/// mapping does not survive. Throws Error when it cannot be read or has more than `most` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t most = SIZE_MAX);
/// At most `count` bytes from its beginning.
std::string read_beginning(const std::filesystem::path& path, std::size_t count);

/// Makes a change of names in the folder permanent. Throws Error.
void sync_folder(const std::filesystem::path& folder);

/// Makes a folder, and those above it that are missing, permanently. Throws Error.
void create_folders(const std::filesystem::path& folder);

/// The last name of a path, also where it ends in a separator: data/uci/ is uci.
std::string last_name(const std::filesystem::path& path);

/// Writes a whole file and forces it to the disk. Throws Error on any failure (a full disk too).
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

/// A file that appears all at once. What is appended is written beside it; `commit()` syncs and
/// renames: readers see the old content or the new, never a part. Without a commit (an exception, a
/// kill) the target stays as it was. A symbolic link is kept and its target replaced; a device or a
/// pipe is written to directly. Any number of processes may write one file at once: the last one
/// wins.
///
/// What is written beside it is called NAME.curnm-partial-XXXXXX, is new and is locked while its
/// process lives. What processes that were killed have left in that folder is removed.
class AtomicFile {
 public:
  /// Throws Error when the location is not writable.
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws Error on any failure (a full disk too).
  void append(std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path staging_;  // empty for what is written to directly, and after a commit
  int descriptor_ = -1;
};

/// The same for a text that is there as a whole.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// A folder that appears all at once. Files are written to `staging()` beside the target;
/// `commit()` syncs and renames it. Without a commit (an exception, a kill) nothing appears at the
/// target, and what stood there before stays as it was. After a kill the staging folder stays until
/// the next writer in that place removes it, as for AtomicFile.
class AtomicFolder {
 public:
  /// Throws Error when the target exists, unless `replace`; and when the location is not writable.
  AtomicFolder(std::filesystem::path target, bool replace);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::filesystem::path& staging() const { return staging_; }
  void commit();

 private:
  [[noreturn]] void fail_rename(int reason) const;

  std::filesystem::path target_;
  std::filesystem::path staging_;
  int lock_ = -1;  // on the staging folder: it has an owner
  bool replace_;
};

}  // namespace curnm
