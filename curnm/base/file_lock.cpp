#include "curnm/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "curnm/base/error.h"

namespace curnm {

bool lock_file(int descriptor) {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool is_locked(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  // Shared, so that several processes can check at once.
  const bool locked = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return locked;
}

FileLock::FileLock(const std::filesystem::path& file, const std::string& work)
    : descriptor_(::open(file.c_str(), O_RDWR | O_CLOEXEC)) {  // NFS locks need write access
  if (descriptor_ < 0) descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail_os("cannot lock " + file.string(), errno);
  // A process that only checks holds the lock briefly: retry.
  for (int tries = 0; ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    const int reason = errno;
    if (reason == ENOLCK || reason == EOPNOTSUPP || reason == ENOSYS) return;  // as lock_file
    if (reason != EWOULDBLOCK || tries == 10) {
      ::close(descriptor_);
      if (reason == EWOULDBLOCK) fail("another process is {}", work);
      fail_os("cannot lock " + file.string() + " (it has to be writable)", reason);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace curnm
