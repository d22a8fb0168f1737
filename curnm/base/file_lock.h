#pragma once

#include <filesystem>
#include <string>

// Locks on files between processes. A process that dies lets go.

namespace curnm {

/// Locks an open file for this process and those that inherit it; false where another has it. True
/// where the file system cannot lock: nothing is gained by refusing to work there.
bool lock_file(int descriptor);

/// Is the file locked now? Asks without waiting; false where it cannot be opened.
bool is_locked(const std::filesystem::path& file);

/// Holds a file while it lives. Throws Error where another is already at `work`.
class FileLock {
 public:
  FileLock(const std::filesystem::path& file, const std::string& work);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace curnm
