#include "curnm/base/error.h"

#include <cerrno>
#include <system_error>

namespace curnm {

std::string os_reason(int error_number) { return std::generic_category().message(error_number); }

void fail_os(const std::string& what, int error_number) {
  const std::string message = fmt::format("{}: {}", what, os_reason(error_number));
  if (error_number == ENOSPC || error_number == EDQUOT) throw DiskFull(message);
  throw Error(message);
}

void assertion_failed(const char* expression, const char* file, int line) {
  throw std::logic_error(
      fmt::format("{}:{}: this is a bug in curnm: {} does not hold", file, line, expression));
}

}  // namespace curnm
