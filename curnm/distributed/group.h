#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/error.h"

namespace curnm {

/// Another rank of this training has failed or does not answer; the message names it.
class RankFailed : public Error {
 public:
  using Error::Error;
};

/// The processes that train one model together, each of which is a rank of it.
///
/// Every rank has to make the same calls in the same order; a call returns once the ranks that it
/// needs have made it, and sleeps until then. It throws RankFailed, on every rank, as soon as one
/// of them has failed: at once if its process has ended, after `kSilence` if its host or the link
/// to it is gone. A group that has thrown is of no further use.
class Group {
 public:
  /// How long a rank may be silent before it counts as lost, in seconds. Links may be cut for
  /// shorter; a rank that computes is not silent, however long it takes.
  static constexpr double kSilence = 20;

  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// A rank with its host and process, for messages.
  virtual std::string name_of(int rank) const = 0;

  /// Replaces the values by their sums over the ranks. Every sum starts at rank 0 and goes on in
  /// the order of ranks: its bits depend neither on timing nor on the way that numbers travel.
  /// REQUIRES: as many values on every rank.
  virtual void sum(std::span<float> values) = 0;
  /// The same in double, for few values.
  virtual void sum(std::span<double> values) = 0;
  /// What every rank has given, by rank.
  virtual std::vector<std::string> all_gather(std::string_view bytes) = 0;
  /// The same at rank 0; nothing elsewhere.
  virtual std::vector<std::string> gather(std::string_view bytes) = 0;
  /// What rank `from` has given.
  virtual std::string broadcast(std::string_view bytes, int from) = 0;

  /// This rank's group when groups of `size` consecutive ranks are formed: a group for calls among
  /// them, which fails with this one. All ranks have to make this call. REQUIRES: `size` divides
  /// the number of ranks; this group outlives that one.
  virtual std::unique_ptr<Group> divide(int size) = 0;

  /// Ends the group in good order. No further calls.
  virtual void leave() = 0;
  /// Lets the calls of all others throw RankFailed with that reason. No further calls.
  virtual void abort(std::string_view reason) noexcept = 0;

  /// Seconds spent in calls, most of them waiting, and bytes given in them.
  struct Traffic {
    double seconds = 0;
    double bytes = 0;
  };
  virtual Traffic traffic() const = 0;
};

/// Which of the processes this is, and where rank 0 listens.
struct Placement {
  int rank = 0;
  int size = 1;
  std::string address = "127.0.0.1";
  int port = 0;
  /// The launcher keeps the store that ranks meet at; otherwise rank 0 does.
  bool store_of_launcher = false;
  std::string attempt = {};    // tells apart the starts of one group at the launcher's store
  std::string interface = {};  // network interface to use; empty: the one that leads to rank 0
};

/// Forms the group: waits up to `seconds` for the others. Throws Error if they do not come, if two
/// processes have the same rank or they disagree about how many there are, or if this program is
/// built without Gloo. The traffic is neither encrypted nor authenticated.
std::unique_ptr<Group> join_group(const Placement& placement, double seconds = 60);

/// Whether this program can form groups.
bool can_form_groups();

}  // namespace curnm
