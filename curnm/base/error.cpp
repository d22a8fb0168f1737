#include "curnm/base/error.h"

#include <system_error>

namespace curnm {

std::string os_reason(int error_number) { return std::generic_category().message(error_number); }

void assertion_failed(const char* expression, const char* file, int line) {
  throw std::logic_error(
      fmt::format("{}:{}: this is a bug in curnm: {} does not hold", file, line, expression));
}

}  // namespace curnm
