#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace curnm {

/// Small values that all ranks see. A call may block for long where the link to the store is gone;
/// it throws when the store has ended.
class Store {
 public:
  virtual ~Store() = default;
  /// Adds to a counter that starts at 0, and returns it.
  virtual std::int64_t add(const std::string& key, std::int64_t value) = 0;
  /// Sets a value unless there is one already; returns the one that is there. REQUIRES: not empty.
  virtual std::string propose(const std::string& key, const std::string& value) = 0;
  virtual std::optional<std::string> find(const std::string& key) = 0;
};

}  // namespace curnm
