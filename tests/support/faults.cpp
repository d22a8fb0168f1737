// A library to preload: the N-th call that changes a file fails, or kills the process.
//
//   CURNM_FAULT_COUNTER  a file of 8 bytes: calls so far, shared by the processes of a command
//   CURNM_FAULT_AT       which call; 0 counts only
//   CURNM_FAULT_KIND     eio: that call fails; enospc: that one and all later ones that need space
//                        (a write stores half of its bytes first); kill: the process is killed
//                        before it
//
// Counted are opens for writing, writes, syncs, renames and new folders. The standard outputs,
// pipes and devices do not count.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum class Call { kOpen, kWrite, kSync, kRename, kFolder };
enum class Outcome { kGoOn, kFail, kHalf };

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::atomic<std::uint64_t>* counter() {
  static std::atomic<std::uint64_t>* const shared = []() -> std::atomic<std::uint64_t>* {
    const char* file = std::getenv("CURNM_FAULT_COUNTER");
    if (file == nullptr) return nullptr;
    using Open = int (*)(const char*, int, ...);
    const int descriptor = next<Open>("open")(file, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return nullptr;
    void* memory = ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    ::close(descriptor);
    return memory == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint64_t>*>(memory);
  }();
  return shared;
}

/// Counts a call, and decides what becomes of it. Sets errno when it is to fail.
Outcome decide(Call call) {
  std::atomic<std::uint64_t>* calls = counter();
  if (calls == nullptr) return Outcome::kGoOn;
  static const std::uint64_t at = std::strtoull(std::getenv("CURNM_FAULT_AT"), nullptr, 10);
  static const char* const kind = std::getenv("CURNM_FAULT_KIND");
  const std::uint64_t number = ++*calls;
  if (at == 0 || number < at) return Outcome::kGoOn;
  if (std::strcmp(kind, "enospc") == 0) {
    if (call == Call::kRename || call == Call::kSync) return Outcome::kGoOn;
    errno = ENOSPC;
    return number == at && call == Call::kWrite ? Outcome::kHalf : Outcome::kFail;
  }
  if (number > at) return Outcome::kGoOn;
  if (std::strcmp(kind, "kill") == 0) {
    ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
  }
  errno = EIO;
  return Outcome::kFail;
}

bool is_file(int descriptor) {
  struct stat status {};
  const int saved = errno;
  const bool counted = descriptor > STDERR_FILENO && ::fstat(descriptor, &status) == 0 &&
                       (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
  errno = saved;
  return counted;
}

bool begins_with(const char* path, const char* folder) {
  return std::strncmp(path, folder, std::strlen(folder)) == 0;
}

/// Not a device or a control of the kernel; /dev/shm is an ordinary folder.
bool is_place(const char* path) {
  const bool device = begins_with(path, "/dev/") && !begins_with(path, "/dev/shm/");
  return !device && !begins_with(path, "/proc/") && !begins_with(path, "/sys/");
}

bool fails_to_open(const char* path, int flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  // SQLite maps its shared memory before it can report errors: a fault there is a different test.
  const std::size_t length = std::strlen(path);
  const bool shared_memory = length > 4 && std::strcmp(path + length - 4, "-shm") == 0;
  return writes && !shared_memory && is_place(path) && decide(Call::kOpen) != Outcome::kGoOn;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

#define CURNM_OPEN(name)                           \
  int name(const char* path, int flags, ...) {     \
    va_list arguments;                             \
    va_start(arguments, flags);                    \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments);                             \
    if (fails_to_open(path, flags)) return -1;     \
    using Real = int (*)(const char*, int, ...);   \
    static const Real real = next<Real>(#name);    \
    return real(path, flags, mode);                \
  }
CURNM_OPEN(open)
CURNM_OPEN(open64)
#undef CURNM_OPEN

std::FILE* fopen(const char* path, const char* how) {
  const bool writes = std::strpbrk(how, "wa+") != nullptr;
  if (writes && is_place(path) && decide(Call::kOpen) != Outcome::kGoOn) return nullptr;
  using Real = std::FILE* (*)(const char*, const char*);
  static const Real real = next<Real>("fopen");
  return real(path, how);
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  using Real = ssize_t (*)(int, const void*, size_t);
  static const Real real = next<Real>("write");
  const Outcome outcome = is_file(descriptor) ? decide(Call::kWrite) : Outcome::kGoOn;
  if (outcome == Outcome::kFail || (outcome == Outcome::kHalf && count < 2)) return -1;
  return real(descriptor, bytes, outcome == Outcome::kHalf ? count / 2 : count);
}

#define CURNM_PWRITE(name)                                                               \
  ssize_t name(int descriptor, const void* bytes, size_t count, off_t offset) {          \
    using Real = ssize_t (*)(int, const void*, size_t, off_t);                           \
    static const Real real = next<Real>(#name);                                          \
    const Outcome outcome = is_file(descriptor) ? decide(Call::kWrite) : Outcome::kGoOn; \
    if (outcome != Outcome::kGoOn) return -1;                                            \
    return real(descriptor, bytes, count, offset);                                       \
  }
CURNM_PWRITE(pwrite)
CURNM_PWRITE(pwrite64)
#undef CURNM_PWRITE

#define CURNM_SYNC(name)                                                         \
  int name(int descriptor) {                                                     \
    using Real = int (*)(int);                                                   \
    static const Real real = next<Real>(#name);                                  \
    if (is_file(descriptor) && decide(Call::kSync) != Outcome::kGoOn) return -1; \
    return real(descriptor);                                                     \
  }
CURNM_SYNC(fsync)
CURNM_SYNC(fdatasync)
#undef CURNM_SYNC

int rename(const char* from, const char* to) {
  using Real = int (*)(const char*, const char*);
  static const Real real = next<Real>("rename");
  return decide(Call::kRename) != Outcome::kGoOn ? -1 : real(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned int flags) {
  using Real = int (*)(int, const char*, int, const char*, unsigned int);
  static const Real real = next<Real>("renameat2");
  return decide(Call::kRename) != Outcome::kGoOn ? -1
                                                 : real(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  using Real = int (*)(const char*, mode_t);
  static const Real real = next<Real>("mkdir");
  return decide(Call::kFolder) != Outcome::kGoOn ? -1 : real(path, mode);
}

}  // extern "C"
