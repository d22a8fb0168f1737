#include "curnm/experiments/owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>

namespace curnm {
namespace {

/// Identifies the current boot of this machine.
std::string boot() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

/// When the process started, in ticks since boot. Process ids are reused; the pair is unique. "" if
/// there is no such process.
std::string start_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field is the program's name in parentheses, which may contain anything; field 22 is
  // the start time.
  std::size_t at = text.rfind(')');
  if (at == std::string::npos || at + 2 >= text.size()) return "";
  const char state = text[at + 2];
  if (state == 'Z' || state == 'X') return "";  // it has ended, but its parent has not reaped it
  for (int field = 2; field < 22; ++field) {
    at = text.find(' ', at + 1);
    if (at == std::string::npos) return "";
  }
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

}  // namespace

std::string this_process() {
  return fmt::format("{}/{}/{}", boot(), ::getpid(), start_of(::getpid()));
}

bool still_runs(std::string_view process) {
  const std::size_t last = process.rfind('/');
  if (last == std::string_view::npos || last == 0) return false;
  const std::size_t middle = process.rfind('/', last - 1);
  if (middle == std::string_view::npos) return false;
  if (process.substr(0, middle) != boot()) return false;
  pid_t pid = 0;
  const std::string_view number = process.substr(middle + 1, last - middle - 1);
  std::from_chars(number.data(), number.data() + number.size(), pid);
  return start_of(pid) == process.substr(last + 1);
}

}  // namespace curnm
