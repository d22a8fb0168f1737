#include "cli/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "curnm/base/parallel.h"
#include "curnm/nn/libtorch.h"

namespace curnm::cli {
namespace {

/// The rest of the first line that begins with `key`, after its separator.
std::string value_of(const char* file, std::string_view key, char separator) {
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \"", line.find(separator) + 1);
    if (at == std::string::npos) break;
    return line.substr(at, line.find_last_not_of(" \"") + 1 - at);
  }
  return "unknown";
}

}  // namespace

Environment this_machine() {
  utsname system{};
  ::uname(&system);
  return {.cpu = value_of("/proc/cpuinfo", "model name", ':'),
          .cores = static_cast<std::int64_t>(std::thread::hardware_concurrency()),
          .threads = num_threads(),
          .memory_bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE),
          .system = fmt::format("{}, {} {}", value_of("/etc/os-release", "PRETTY_NAME", '='),
                                system.sysname, system.release),
          .libraries = "LibTorch " + libtorch_version()};
}

}  // namespace curnm::cli
