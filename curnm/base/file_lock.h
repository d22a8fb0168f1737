#pragma once

#include <filesystem>
#include <string>

// File locks between processes. A lock is released when its process dies.

namespace curnm {

/// Locks an open file for this process and those that inherit it; false if another process holds
/// it. True on file systems without locks: refusing to work there would gain nothing.
bool lock_file(int descriptor);

/// Is the file locked now? Does not wait; false if the file cannot be opened.
bool is_locked(const std::filesystem::path& file);

/// Holds a lock on a file during its lifetime. Throws Error if another process is already doing
/// `work`, or if the file cannot be locked by this user.
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
