// A library to preload: the N-th call that changes a file fails, or kills the process.
//
//   CURNM_FAULT_COUNTER  a file of 8 bytes: calls so far, shared by the processes of a command
//   CURNM_FAULT_AT       which call; 0 counts only
//   CURNM_FAULT_KIND     eio: that call fails; enospc: that one and all later ones that need space
//                        (a write stores half of its bytes first); kill: the process is killed
//                        before it; power: all processes of the command are, at that call or their
//                        next one; memory: instead of calls that change files, large allocations
//                        after the start of main() count, and that one fails
//   CURNM_FAULT_DISK     with power: a folder for what has been synced, from which PowerCut
//                        (support/power_cut.h) makes the files as they are after a power cut
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
#include <new>
#include <string>
#include <utility>

namespace {

enum class Call { kOpen, kWrite, kSync, kRename, kFolder };

thread_local bool unobserved = false;  // what this library does itself
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

// Before it nobody can catch anything: libraries are being initialised.
bool main_has_begun = false;
int (*real_main)(int, char**, char**) = nullptr;

int begin_main(int argc, char** argv, char** environment) {
  main_has_begun = true;
  return real_main(argc, argv, environment);
}

/// Whether allocations count, and not calls that change files.
bool is_about_memory() {
  static const char* const kind = std::getenv("CURNM_FAULT_KIND");
  return kind != nullptr && std::strcmp(kind, "memory") == 0;
}

/// Counts an allocation, and decides whether it fails. There are far too many small ones.
bool fails_to_allocate(std::size_t bytes) {
  constexpr std::size_t kLarge = 4096;
  if (bytes < kLarge || !main_has_begun || !is_about_memory() || counter() == nullptr) return false;
  static const std::uint64_t at = std::strtoull(std::getenv("CURNM_FAULT_AT"), nullptr, 10);
  return ++*counter() == at;
}

/// Counts a call, and decides what becomes of it. Sets errno when it is to fail.
Outcome decide(Call call) {
  std::atomic<std::uint64_t>* calls = unobserved || is_about_memory() ? nullptr : counter();
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
  const bool power = std::strcmp(kind, "power") == 0;
  if (number > at && !power) return Outcome::kGoOn;
  if (power || std::strcmp(kind, "kill") == 0) {
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

/// Keeps, in a folder of its own, what a power cut leaves: of each file that was opened for writing
/// the content that has been synced, under the number of its inode; and a journal of the names that
/// were changed and of the folders that were synced, in this order. What loses its name keeps a
/// link there, so that it can get it back and no inode number is used twice.
class Disk {
 public:
  /// Null where nothing is kept, and for what this library does itself.
  static const Disk* used() {
    static const char* const folder = std::getenv("CURNM_FAULT_DISK");
    static const Disk disk(folder == nullptr ? "" : folder);
    return folder == nullptr || unobserved ? nullptr : &disk;
  }

  /// Before a file is opened for writing. Returns whether it exists.
  bool before_opening(const char* path) const {
    const Unobserved own;
    struct stat status {};
    if (::stat(path, &status) != 0) return false;
    struct stat kept {};
    const std::string content = content_of(status.st_ino);
    // What nobody has written so far has been there for long.
    if (S_ISREG(status.st_mode) && ::stat(content.c_str(), &kept) != 0) copy(path, content);
    return true;
  }
  void created(const char* path) const {
    const Unobserved own;
    struct stat status {};
    if (::stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return;
    copy("/dev/null", content_of(status.st_ino));
    note("create", place(AT_FDCWD, path));
  }
  void synced(int descriptor) const {
    const Unobserved own;
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return;
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor);
    if (S_ISDIR(status.st_mode)) {
      note("sync", real(self));
    } else {
      copy(self, content_of(status.st_ino));
    }
  }
  /// What the name stood for until now, to be linked before the call that changes it.
  std::string keep(const std::string& path) const {
    const Unobserved own;
    static std::atomic<int> number{0};
    const std::string kept =
        folder_ + "/old-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    return ::link(path.c_str(), kept.c_str()) == 0 ? kept : "-";
  }
  void note(const char* what, const std::string& path, const std::string& other = "-",
            const std::string& kept = "-") const {
    const Unobserved own;
    const int saved = errno;
    const std::string line = std::string(what) + "\t" + path + "\t" + other + "\t" + kept + "\n";
    const int journal =
        ::open((folder_ + "/journal").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (journal < 0 || ::write(journal, line.data(), line.size()) < 0) ::abort();
    ::close(journal);
    errno = saved;
  }
  /// The one name that a path in a folder has.
  static std::string place(int folder, const char* path) {
    const std::string given = path;
    const std::size_t slash = given.rfind('/');
    std::string parent = slash == std::string::npos ? "." : given.substr(0, slash + 1);
    if (parent[0] != '/' && folder != AT_FDCWD) {
      parent = "/proc/self/fd/" + std::to_string(folder) + "/" + parent;
    }
    return real(parent) + "/" + (slash == std::string::npos ? given : given.substr(slash + 1));
  }

 private:
  struct Unobserved {
    const bool before = std::exchange(unobserved, true);
    ~Unobserved() { unobserved = before; }
  };

  explicit Disk(std::string folder) : folder_(std::move(folder)) {}

  std::string content_of(ino_t number) const { return folder_ + "/" + std::to_string(number); }
  static std::string real(const std::string& path) {
    char* found = ::realpath(path.c_str(), nullptr);
    const std::string text = found == nullptr ? path : found;
    std::free(found);
    return text;
  }
  /// All at once, since another process may be copying as well.
  void copy(const std::string& from, const std::string& to) const {
    const int saved = errno;
    const std::string next =
        folder_ + "/next-" + std::to_string(::getpid()) + "-" + std::to_string(::gettid());
    const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
    const int out = ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    char block[1 << 16];
    ssize_t got = 0;
    while (in >= 0 && out >= 0 && (got = ::read(in, block, sizeof block)) > 0) {
      if (::write(out, block, static_cast<std::size_t>(got)) != got) ::abort();
    }
    ::close(in);
    ::close(out);
    if (::rename(next.c_str(), to.c_str()) != 0) ::abort();
    errno = saved;
  }

  std::string folder_;
};

bool creates(int flags) { return (flags & O_CREAT) != 0 && (flags & O_ACCMODE) != O_RDONLY; }

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

#define CURNM_OPEN(name)                                                         \
  int name(const char* path, int flags, ...) {                                   \
    va_list arguments;                                                           \
    va_start(arguments, flags);                                                  \
    const mode_t mode = mode_of(flags, arguments);                               \
    va_end(arguments);                                                           \
    if (fails_to_open(path, flags)) return -1;                                   \
    using Real = int (*)(const char*, int, ...);                                 \
    static const Real real = next<Real>(#name);                                  \
    const Disk* disk = (flags & O_ACCMODE) == O_RDONLY ? nullptr : Disk::used(); \
    const bool existed = disk == nullptr || disk->before_opening(path);          \
    const int descriptor = real(path, flags, mode);                              \
    if (descriptor >= 0 && !existed && creates(flags)) disk->created(path);      \
    return descriptor;                                                           \
  }
CURNM_OPEN(open)
CURNM_OPEN(open64)
#undef CURNM_OPEN

#define CURNM_FOPEN(name)                                                                  \
  std::FILE* name(const char* path, const char* how) {                                     \
    const bool writes = std::strpbrk(how, "wa+") != nullptr;                               \
    if (writes && is_place(path) && decide(Call::kOpen) != Outcome::kGoOn) return nullptr; \
    using Real = std::FILE* (*)(const char*, const char*);                                 \
    static const Real real = next<Real>(#name);                                            \
    const Disk* disk = writes && is_place(path) ? Disk::used() : nullptr;                  \
    const bool existed = disk == nullptr || disk->before_opening(path);                    \
    std::FILE* file = real(path, how);                                                     \
    if (file != nullptr && !existed) disk->created(path);                                  \
    return file;                                                                           \
  }
CURNM_FOPEN(fopen)
CURNM_FOPEN(fopen64)
#undef CURNM_FOPEN

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

#define CURNM_TRUNCATE(name)                                                             \
  int name(int descriptor, off_t length) {                                               \
    using Real = int (*)(int, off_t);                                                    \
    static const Real real = next<Real>(#name);                                          \
    const Outcome outcome = is_file(descriptor) ? decide(Call::kWrite) : Outcome::kGoOn; \
    return outcome == Outcome::kGoOn ? real(descriptor, length) : -1;                    \
  }
CURNM_TRUNCATE(ftruncate)
CURNM_TRUNCATE(ftruncate64)
#undef CURNM_TRUNCATE

#define CURNM_SYNC(name)                                                                           \
  int name(int descriptor) {                                                                       \
    using Real = int (*)(int);                                                                     \
    static const Real real = next<Real>(#name);                                                    \
    if (is_file(descriptor) && decide(Call::kSync) != Outcome::kGoOn) return -1;                   \
    const int result = real(descriptor);                                                           \
    if (const Disk* disk = Disk::used(); disk != nullptr && result == 0) disk->synced(descriptor); \
    return result;                                                                                 \
  }
CURNM_SYNC(fsync)
CURNM_SYNC(fdatasync)
#undef CURNM_SYNC

int rename(const char* from, const char* to) {
  using Real = int (*)(const char*, const char*);
  static const Real real = next<Real>("rename");
  if (decide(Call::kRename) != Outcome::kGoOn) return -1;
  const Disk* disk = Disk::used();
  if (disk == nullptr) return real(from, to);
  const std::string source = Disk::place(AT_FDCWD, from);
  const std::string target = Disk::place(AT_FDCWD, to);
  const std::string replaced = disk->keep(target);
  const int result = real(from, to);
  if (result == 0) disk->note("rename", source, target, replaced);
  return result;
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned int flags) {
  using Real = int (*)(int, const char*, int, const char*, unsigned int);
  static const Real real = next<Real>("renameat2");
  if (decide(Call::kRename) != Outcome::kGoOn) return -1;
  const Disk* disk = Disk::used();
  const std::string source = disk == nullptr ? "" : Disk::place(from_folder, from);
  const std::string target = disk == nullptr ? "" : Disk::place(to_folder, to);
  const int result = real(from_folder, from, to_folder, to, flags);
  if (disk != nullptr && result == 0) {
    disk->note((flags & RENAME_EXCHANGE) != 0 ? "exchange" : "rename", source, target);
  }
  return result;
}

int mkdir(const char* path, mode_t mode) {
  using Real = int (*)(const char*, mode_t);
  static const Real real = next<Real>("mkdir");
  if (decide(Call::kFolder) != Outcome::kGoOn) return -1;
  const int result = real(path, mode);
  if (const Disk* disk = Disk::used(); disk != nullptr && result == 0) {
    disk->note("mkdir", Disk::place(AT_FDCWD, path));
  }
  return result;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*begin)(),
                      void (*end)(), void (*unload)(), void* stack_end) {
  using Real =
      int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  static const Real real = next<Real>("__libc_start_main");
  real_main = main;
  return real(begin_main, argc, argv, begin, end, unload, stack_end);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  using Real = int (*)(void**, size_t, size_t);
  static const Real real = next<Real>("posix_memalign");
  return fails_to_allocate(bytes) ? ENOMEM : real(memory, alignment, bytes);
}

// Removals are not counted: a program that cannot remove a file has nothing to do about it.

int unlinkat(int folder, const char* path, int flags) {
  using Real = int (*)(int, const char*, int);
  static const Real real = next<Real>("unlinkat");
  const Disk* disk = Disk::used();
  if (disk == nullptr) return real(folder, path, flags);
  const std::string place = Disk::place(folder, path);
  const bool is_folder = (flags & AT_REMOVEDIR) != 0;
  const std::string kept = is_folder ? "-" : disk->keep(place);
  const int result = real(folder, path, flags);
  if (result == 0) disk->note(is_folder ? "rmdir" : "unlink", place, "-", kept);
  return result;
}

int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) {
  const int result = unlink(path);
  return result != 0 && errno == EISDIR ? rmdir(path) : result;
}

}  // extern "C"

// What the library of C++ does, but for those that are to fail.

void* operator new(std::size_t bytes) {
  void* memory = fails_to_allocate(bytes) ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
