#include "curnm/distributed/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "curnm/base/files.h"
#include "curnm/base/pages.h"

namespace curnm {
namespace {

/// A file descriptor, or none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  int number() const { return number_; }
  bool valid() const { return number_ >= 0; }

 private:
  int number_;
};

/// What processes have in common that can see each other's files; empty where that is not known.
std::string this_host() {
  std::error_code unknown;
  const auto processes = std::filesystem::read_symlink("/proc/self/ns/pid", unknown);
  if (unknown) return "";
  try {
    return read_file("/proc/sys/kernel/random/boot_id") + processes.string();
  } catch (const Error&) {
    return "";
  }
}

bool write_at(int descriptor, std::span<const std::byte> bytes, off_t at) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), at);
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += written;
  }
  return true;
}

/// A file without a name that has all stretches, one after the other, and never changes.
Descriptor file_of(const std::vector<std::span<const std::byte>>& stretches) {
  Descriptor file(::memfd_create("curnm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  off_t at = 0;
  for (const auto& stretch : stretches) {
    if (!file.valid() || !write_at(file.number(), stretch, at)) return Descriptor(-1);
    at += static_cast<off_t>(stretch.size());
  }
  ::fcntl(file.number(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK);
  return file;
}

/// Puts pages of the file in the place of a stretch with the same bytes.
bool replace(std::span<const std::byte> stretch, int file, off_t at) {
  const std::size_t size = stretch.size();
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, at);
  if (pages == MAP_FAILED) return false;
  const bool same = std::memcmp(pages, stretch.data(), size) == 0;
  void* place = const_cast<std::byte*>(stretch.data());
  if (same && ::mremap(pages, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place) {
    return true;
  }
  ::munmap(pages, size);
  return false;
}

/// The file that a process of this host offers as "PID DESCRIPTOR".
Descriptor open_offered(const std::string& offer) {
  const std::size_t space = offer.find(' ');
  if (space == std::string::npos) return Descriptor(-1);
  const std::string path =
      fmt::format("/proc/{}/fd/{}", offer.substr(0, space), offer.substr(space + 1));
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

std::size_t share_memory(Group& group, const std::vector<std::span<const std::byte>>& stretches) {
  const auto of_rank = [](const std::vector<std::string>& all, int rank) -> const std::string& {
    return all[static_cast<std::size_t>(rank)];
  };
  const std::string host = ::sysconf(_SC_PAGESIZE) == long{kPageSize} ? this_host() : "";
  const std::vector<std::string> hosts = group.all_gather(host);
  const auto first = static_cast<int>(std::ranges::find(hosts, host) - hosts.begin());
  const bool shares = !host.empty() && std::ranges::count(hosts, host) > 1;

  const Descriptor own = shares && first == group.rank() ? file_of(stretches) : Descriptor(-1);
  const std::string offer = own.valid() ? fmt::format("{} {}", ::getpid(), own.number()) : "";
  const std::vector<std::string> offers = group.all_gather(offer);
  std::size_t shared = 0;
  if (const Descriptor file = open_offered(of_rank(offers, first)); shares && file.valid()) {
    off_t at = 0;
    for (const auto& stretch : stretches) {
      if (replace(stretch, file.number(), at)) shared += stretch.size();
      at += static_cast<off_t>(stretch.size());
    }
  }
  group.all_gather("");  // so long the first rank keeps its file
  return shared;
}

}  // namespace curnm
