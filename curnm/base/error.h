#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace curnm {

/// A mistake that the user can correct: the message says what, where, the value and what to try.
/// The library throws, it never prints or exits; `cli/main.cpp` catches once.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A name or value on the command line that means nothing (exit code 2 instead of 1).
class UsageError : public Error {
 public:
  using Error::Error;
};

/// What a run left behind is of no use: its files are damaged or of another program, or the data is
/// not what it was trained on (exit code 3).
class UnusableRun : public Error {
 public:
  using Error::Error;
};

template <class Kind = Error, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Kind(fmt::format(format, std::forward<Args>(args)...));
}

/// "No such file or directory" and the like, for messages that end in the operating system's
/// reason.
std::string os_reason(int error_number);

/// A violated assumption of ours, not of the user's.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace curnm

#define CURNM_ASSERT(condition) \
  ((condition) ? void(0) : ::curnm::assertion_failed(#condition, __FILE__, __LINE__))
