#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "curnm/distributed/store.h"

namespace curnm {

/// Tells the other ranks that this one is alive, and notices when one of them is not.
///
/// A thread of its own talks to the store: the rank itself never waits for it.
class Monitor {
 public:
  struct Options {
    double interval = 1;       // seconds between signs of life
    double silence = 20;       // how long a rank may give none
    double short_silence = 6;  // the same once a connection has broken
  };
  /// `names`: of the ranks, for messages.
  Monitor(std::unique_ptr<Store> store, int rank, std::vector<std::string> names,
          const Options& options);
  /// Stops. Returns soon even if the store does not answer.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Why the group has failed, by its first witness; empty if all is well so far. `broken`: a
  /// connection has broken, so that the reason is expected soon.
  std::optional<std::string> failure(bool broken);

  /// Tells all ranks why the group fails, unless one of them has done so already, and waits up to
  /// `seconds` until all that are alive have read it.
  void announce(const std::string& reason, double seconds);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this object
};

}  // namespace curnm
