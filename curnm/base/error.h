#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace curnm {

/// A mistake that the user can correct: the message says what is wrong, where, the value, and what
/// to try. The library throws, it never prints or exits; `cli/main.cpp` catches once.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A name or value in a command or a file of settings that is not valid (exit code 2 instead of 1).
class UsageError : public Error {
 public:
  using Error::Error;
};

/// What is wrong with an option, and which one it is: callers use these, never the message text.
class OptionError : public UsageError {
 public:
  enum class Kind {
    kUnknown,   // there is no option of that name
    kValue,     // its value cannot be read, is out of range or not among the choices
    kNoEffect,  // nothing in this run would make use of it
    kConflict,  // it conflicts with another one
  };
  /// `option`: its name without dashes.
  OptionError(Kind kind, std::string option, const std::string& message)
      : UsageError(message), kind_(kind), option_(std::move(option)) {}

  Kind kind() const { return kind_; }
  const std::string& option() const { return option_; }

 private:
  Kind kind_;
  std::string option_;
};

/// A run cannot be used: its files are damaged or from another program, or the data is not what it
/// was trained on (exit code 3).
class UnusableRun : public Error {
 public:
  using Error::Error;
};

/// For state from files, which may be damaged or made by hand: throws UnusableRun unless it fits.
inline void check_saved(bool fits, const char* what) {
  if (!fits) throw UnusableRun(what);
}

/// The disk is full (exit code 4): what was written before is unharmed, and the same command can
/// continue once there is space.
class DiskFull : public Error {
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

/// Throws Error with `what` and the operating system's reason; DiskFull where that is the reason.
[[noreturn]] void fail_os(const std::string& what, int error_number);

/// A bug in this library, not a mistake of the user.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace curnm

#define CURNM_ASSERT(condition) \
  ((condition) ? void(0) : ::curnm::assertion_failed(#condition, __FILE__, __LINE__))
