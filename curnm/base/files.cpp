#include "curnm/base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "curnm/base/error.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags, mode_t mode = 0)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Some file systems report a full disk only here.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

void sync_folder(const fs::path& folder) {
  const Descriptor directory(folder, O_RDONLY | O_DIRECTORY);
  // Some network file systems cannot sync folders and return EINVAL.
  if (!directory.valid() || (::fsync(directory.get()) != 0 && errno != EINVAL)) {
    fail_os("cannot sync " + folder.string(), errno);
  }
}

}  // namespace

std::string last_name(const fs::path& path) {
  return path.has_filename() ? path.filename() : path.parent_path().filename();
}

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& path) {
  const Descriptor file(path, O_RDONLY);
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    fail_os("cannot open " + path.string(), errno);
  }
  if (!S_ISREG(status.st_mode)) fail("{} is not a regular file", path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}));

  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) fail_os("cannot map " + path.string(), errno);
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(address), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::string_view MappedFile::text() const {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (!file.valid()) fail_os("cannot create " + path.string(), errno);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_os("cannot write " + path.string(), errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  const bool synced = ::fsync(file.get()) == 0 || errno == EINVAL;  // a pipe has nothing to sync
  if (!synced || !file.close()) {
    fail_os("cannot write " + path.string(), errno);
  }
}

void write_file(const fs::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

void write_file_atomically(const fs::path& target, std::string_view text) {
  std::error_code none;  // ignored: the file may not exist yet
  const fs::path linked = fs::canonical(target, none);
  const fs::path path = none ? target : linked;
  if (fs::exists(path, none) && !fs::is_regular_file(path, none)) return write_file(path, text);
  const fs::path staging = path.string() + ".partial";
  try {
    write_file(staging, text);
    std::error_code error;
    fs::rename(staging, path, error);
    if (error) fail("cannot rename {} to {}: {}", staging.string(), path.string(), error.message());
  } catch (...) {
    std::error_code ignored;
    fs::remove(staging, ignored);
    throw;
  }
  sync_folder(fs::absolute(path).parent_path());
}

AtomicFolder::AtomicFolder(fs::path target, bool replace) : replace_(replace) {
  if (target.empty()) fail("the name of the folder to write is empty");
  target_ = fs::absolute(target).lexically_normal();
  if (target_.filename().empty()) target_ = target_.parent_path();  // a trailing slash
  std::error_code error;
  if (!replace_ && fs::exists(target_, error)) {
    fail("{} exists already", target.string());
  }
  fs::create_directories(target_.parent_path(), error);
  if (error) fail("cannot create {}: {}", target_.parent_path().string(), error.message());

  std::string pattern = target_.string() + ".partial-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) {
    fail_os("cannot create " + target_.string(), errno);
  }
  staging_ = pattern;
  ::chmod(staging_.c_str(), 0755);
}

AtomicFolder::~AtomicFolder() {
  if (staging_.empty()) return;
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

void AtomicFolder::fail_rename(int reason) const {
  fail("cannot rename {} to {}: {}", staging_.string(), target_.string(), os_reason(reason));
}

void AtomicFolder::commit() {
  sync_folder(staging_);
  // If the target exists, the two folders swap names atomically, so that a complete one is always
  // there; the old one is then removed under the temporary name.
  const bool swap = fs::exists(fs::symlink_status(target_));
  if (swap && !replace_) fail("{} appeared meanwhile; nothing was replaced", target_.string());
  const unsigned int flags = swap ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, target_.c_str(), flags) != 0) {
    // NFS and other network file systems support neither.
    if (errno != EINVAL && errno != ENOSYS) fail_rename(errno);
    const fs::path aside = staging_.string() + ".old";
    if (swap && ::rename(target_.c_str(), aside.c_str()) != 0) fail_rename(errno);
    if (::rename(staging_.c_str(), target_.c_str()) != 0) {
      const int reason = errno;
      if (swap) ::rename(aside.c_str(), target_.c_str());
      fail_rename(reason);
    }
    staging_ = aside;
  }
  sync_folder(target_.parent_path());
  if (swap) {
    std::error_code ignored;
    fs::remove_all(staging_, ignored);
  }
  staging_.clear();
}

}  // namespace curnm
