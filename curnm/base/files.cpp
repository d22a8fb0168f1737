#include "curnm/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "curnm/base/error.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags, mode_t mode = 0)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  explicit Descriptor(int fd) : fd_(fd) {}
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

// What is being written, beside its target: X.curnm-partial-3k9QzA.
constexpr std::string_view kPartial = ".curnm-partial-";
constexpr std::size_t kSuffixLength = 6;

bool is_partial(const std::string& name) {
  const std::size_t at = name.rfind(kPartial);
  return at != std::string::npos && at + kPartial.size() + kSuffixLength == name.size();
}

/// Whether this process alone holds the lock now; false also where there are no locks.
bool take_lock(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

/// Whether the open file still has this name: a collector may have removed it before it was locked.
bool has_name(int descriptor, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Removes what processes that no longer exist were writing in this folder. A live one holds the
/// lock on what it writes.
void collect_partials(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (!is_partial(entry.path().filename().string())) continue;
    const Descriptor left(entry.path(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (left.valid() && take_lock(left.get()) && has_name(left.get(), entry.path())) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

std::string random_suffix() {
  constexpr std::string_view kLetters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::random_device source;
  std::string suffix;
  for (std::size_t i = 0; i < kSuffixLength; ++i) suffix += kLetters[source() % kLetters.size()];
  return suffix;
}

/// Calls create(path) with new names beside the target until it returns a descriptor whose file we
/// hold the lock of. -1 with errno where creating fails.
template <class Create>
int create_partial(const fs::path& target, fs::path& path, const Create& create) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    path = target.string() + std::string(kPartial) + random_suffix();
    const int descriptor = create(path);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) return -1;
    // Where there are no locks nobody collects, either.
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? has_name(descriptor, path)
                                                    : errno != EWOULDBLOCK) {
      return descriptor;
    }
    ::close(descriptor);  // a collector was quicker, and removes it
  }
  errno = EEXIST;
  return -1;
}

int create_file(const fs::path& path) {
  // New and no link: nobody can have put something else in its place.
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

int create_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0755) != 0) return -1;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const int reason = errno;
  if (descriptor < 0) ::rmdir(path.c_str());
  errno = reason == ENOENT ? EEXIST : reason;  // a collector was quicker: try another name
  return descriptor;
}

void write_bytes(int file, const fs::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_os("cannot write " + path.string(), errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// Some file systems report a full disk only here.
void sync_bytes(int file, const fs::path& path) {
  const bool synced = ::fsync(file) == 0 || errno == EINVAL;  // a pipe has nothing to sync
  if (!synced) fail_os("cannot write " + path.string(), errno);
}

}  // namespace

void sync_folder(const fs::path& folder) {
  const Descriptor directory(folder, O_RDONLY | O_DIRECTORY);
  // Some network file systems cannot sync folders and return EINVAL.
  if (!directory.valid() || (::fsync(directory.get()) != 0 && errno != EINVAL)) {
    fail_os("cannot sync " + folder.string(), errno);
  }
}

void create_folders(const fs::path& folder) {
  std::vector<fs::path> changed;  // those that get a new name
  std::error_code error;
  for (fs::path missing = fs::absolute(folder);
       !fs::exists(missing, error) && missing.has_relative_path();) {
    missing = missing.parent_path();
    changed.push_back(missing);
  }
  fs::create_directories(folder, error);
  if (error) fail_os("cannot create " + folder.string(), error.value());
  for (const fs::path& parent : changed) sync_folder(parent);
}

std::string read_file(const fs::path& path, std::size_t most) {
  std::string bytes = read_beginning(path, most == SIZE_MAX ? most : most + 1);
  if (bytes.size() > most) fail("{} has more than {} bytes", path.string(), most);
  return bytes;
}

std::string read_beginning(const fs::path& path, std::size_t count) {
  const Descriptor file(path, O_RDONLY);
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    fail_os("cannot open " + path.string(), errno);
  }
  if (!S_ISREG(status.st_mode)) fail("{} is not a regular file", path.string());
  std::string bytes(std::min(count, static_cast<std::size_t>(status.st_size)), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t read = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) fail_os("cannot read " + path.string(), errno);
    if (read == 0) break;  // it has become shorter
    got += static_cast<std::size_t>(read);
  }
  bytes.resize(got);
  return bytes;
}

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
  write_bytes(file.get(), path, bytes);
  sync_bytes(file.get(), path);
  if (!file.close()) fail_os("cannot write " + path.string(), errno);
}

void write_file(const fs::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

AtomicFile::AtomicFile(const fs::path& target) {
  std::error_code none;  // ignored: the file may not exist yet
  const fs::path linked = fs::canonical(target, none);
  path_ = none ? target : linked;
  if (fs::exists(path_, none) && !fs::is_regular_file(path_, none)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    collect_partials(fs::absolute(path_).parent_path());
    descriptor_ = create_partial(path_, staging_, create_file);
  }
  if (descriptor_ < 0) fail_os("cannot create " + path_.string(), errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  if (!staging_.empty()) ::unlink(staging_.c_str());
  ::close(descriptor_);
}

void AtomicFile::append(std::string_view text) {
  write_bytes(descriptor_, path_, std::as_bytes(std::span(text)));
}

void AtomicFile::commit() {
  sync_bytes(descriptor_, path_);
  // Open, and so locked, until it has its name.
  if (!staging_.empty() && ::rename(staging_.c_str(), path_.c_str()) != 0) {
    fail_os("cannot rename " + staging_.string() + " to " + path_.string(), errno);
  }
  const bool renamed = !std::exchange(staging_, {}).empty();
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    fail_os("cannot write " + path_.string(), errno);
  }
  if (renamed) sync_folder(fs::absolute(path_).parent_path());
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.append(text);
  file.commit();
}

AtomicFolder::AtomicFolder(fs::path target, bool replace) : replace_(replace) {
  if (target.empty()) fail("the name of the folder to write is empty");
  target_ = fs::absolute(target).lexically_normal();
  if (target_.filename().empty()) target_ = target_.parent_path();  // a trailing slash
  std::error_code error;
  if (!replace_ && fs::exists(target_, error)) {
    fail("{} exists already", target.string());
  }
  create_folders(target_.parent_path());
  collect_partials(target_.parent_path());
  fs::path staging;
  lock_ = create_partial(target_, staging, create_folder);
  if (lock_ < 0) fail_os("cannot create " + target_.string(), errno);
  staging_ = staging;
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void AtomicFolder::fail_rename(int reason) const {
  fail_os("cannot rename " + staging_.string() + " to " + target_.string(), reason);
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
