#include "curnm/distributed/monitor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace curnm {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Clock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

constexpr const char* kFailure = "failure";
constexpr const char* kReaders = "failure-readers";

std::string alive_key(std::size_t rank) { return fmt::format("alive/{}", rank); }

}  // namespace

struct Monitor::Shared {
  struct Peer {
    std::int64_t signs = -1;
    Clock::time_point last = Clock::now();
  };

  std::unique_ptr<Store> store;  // the thread's
  std::size_t rank = 0;
  std::vector<std::string> names;
  Options options;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Peer> peers;
  Clock::time_point answered = Clock::now();  // when the store did last
  bool store_lost = false;
  bool stop = false;
  std::optional<Clock::time_point> wakes;  // when the thread wakes up, while it sleeps
  std::string to_announce;
  std::string reason;        // why the group has failed, as all know it
  std::int64_t readers = 0;  // who know it

  /// This process has been halted (Ctrl-Z, a paused machine): silence meanwhile is no sign of
  /// anything.
  bool was_halted() const {
    constexpr double kLate = 3;
    return wakes && since(*wakes) > kLate;
  }

  /// Who has given no sign of life for so long; empty if all have.
  std::string silent_ranks(double seconds) const {
    std::vector<std::string> silent;
    double longest = 0;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const double silence = i == rank ? 0 : since(peers[i].last);
      longest = std::max(longest, silence);
      // Whoever has gone together does not give its last sign at the same moment.
      if (silence > seconds - 2 * options.interval) silent.push_back(names[i]);
    }
    if (longest <= seconds) return "";
    if (silent.size() > 1 && silent.size() + 1 == names.size()) {
      return fmt::format("no other rank has answered {} for {:.0f} s: its network may be down",
                         names[rank], seconds);
    }
    return fmt::format("{} {} not answered for {:.0f} s", fmt::join(silent, ", "),
                       silent.size() == 1 ? "has" : "have", seconds);
  }

  /// One exchange with the store.
  void round() {
    std::vector<std::int64_t> signs(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      signs[i] = store->add(alive_key(i), i == rank ? 1 : 0);
    }
    std::string announced;
    {
      const std::scoped_lock lock(mutex);
      announced = to_announce;
    }
    std::optional<std::string> known;
    if (announced.empty()) {
      known = store->find(kFailure);
    } else {
      known = store->propose(kFailure, announced);
    }
    std::int64_t read = 0;
    if (known) read = store->add(kReaders, reason.empty() ? 1 : 0);
    const std::scoped_lock lock(mutex);
    answered = Clock::now();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (signs[i] == peers[i].signs) continue;
      peers[i] = {signs[i], answered};
    }
    if (known) reason = *known;
    readers = read;
    changed.notify_all();
  }

  static void run(const std::shared_ptr<Shared>& shared) {
    while (true) {
      try {
        shared->round();
      } catch (const std::exception&) {
        const std::scoped_lock lock(shared->mutex);
        shared->store_lost = true;
        shared->changed.notify_all();
        return;
      }
      std::unique_lock lock(shared->mutex);
      // Once there is a failure, readers are counted quickly.
      const double pause = shared->reason.empty() ? shared->options.interval : 0.05;
      const bool was_announced = !shared->to_announce.empty();
      shared->wakes = Clock::now() + to_duration(pause);
      shared->changed.wait_for(lock, to_duration(pause), [&] {
        return shared->stop || (!was_announced && !shared->to_announce.empty());
      });
      if (shared->was_halted()) {
        shared->answered = Clock::now();
        for (Peer& peer : shared->peers) peer.last = shared->answered;
      }
      shared->wakes.reset();
      if (shared->stop) return;
    }
  }
};

Monitor::Monitor(std::unique_ptr<Store> store, int rank, std::vector<std::string> names,
                 const Options& options)
    : shared_(std::make_shared<Shared>()) {
  shared_->store = std::move(store);
  shared_->rank = static_cast<std::size_t>(rank);
  shared_->peers.resize(names.size());
  shared_->names = std::move(names);
  shared_->options = options;
  std::thread(Shared::run, shared_).detach();
}

Monitor::~Monitor() {
  const std::scoped_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
}

std::optional<std::string> Monitor::failure(bool broken) {
  std::string found;
  {
    const std::scoped_lock lock(shared_->mutex);
    if (!shared_->reason.empty()) return shared_->reason;
    if (shared_->was_halted()) return std::nullopt;
    const double silence = broken ? shared_->options.short_silence : shared_->options.silence;
    if (shared_->store_lost) {
      return fmt::format("{} has ended", shared_->names.front());
    }
    if (since(shared_->answered) > silence) {
      return fmt::format("{} has not answered for {:.0f} s", shared_->names.front(), silence);
    }
    found = shared_->silent_ranks(silence);
  }
  if (found.empty()) return std::nullopt;
  announce(found, /*seconds=*/1);
  const std::scoped_lock lock(shared_->mutex);
  return shared_->reason.empty() ? found : shared_->reason;
}

void Monitor::announce(const std::string& reason, double seconds) {
  std::unique_lock lock(shared_->mutex);
  if (shared_->to_announce.empty()) shared_->to_announce = reason;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, to_duration(seconds), [&] {
    const auto all = static_cast<std::int64_t>(shared_->names.size());
    return shared_->store_lost || shared_->readers >= all;
  });
}

}  // namespace curnm
