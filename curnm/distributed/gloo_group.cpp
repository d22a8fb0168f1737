#include "curnm/distributed/group.h"

#ifndef CURNM_GLOO

namespace curnm {

std::unique_ptr<Group> join_group(const Placement&, double) {
  fail(
      "this curnm is built without Gloo and trains on one rank only: install libgloo-dev, and "
      "build it again");
}

bool can_form_groups() { return false; }

}  // namespace curnm

#else

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // not every LibTorch defines it for its users
#endif
#include <ATen/ATen.h>
#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "curnm/base/interrupt.h"
#include "curnm/distributed/monitor.h"

namespace curnm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

milliseconds to_milliseconds(double seconds) {
  return milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

/// c10d appends where in its source an error arose: of no use to users.
std::string first_line(const char* text) {
  const std::string_view all(text);
  return std::string(all.substr(0, all.find('\n')));
}

/// A connection to the store that ranks meet at.
class TcpStore final : public Store {
 public:
  TcpStore(const Placement& placement, bool serve, double seconds)
      : place_(fmt::format("{}:{}", placement.address, placement.port)) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(placement.port);
    options.isServer = serve;
    options.waitWorkers = false;
    options.timeout = to_milliseconds(seconds);
    // torchrun's agent keeps one store for all starts.
    const std::string prefix = fmt::format("curnm/{}", placement.attempt);
    store_ = c10::make_intrusive<c10d::PrefixStore>(
        prefix, c10::make_intrusive<c10d::TCPStore>(placement.address, options));
  }

  std::int64_t add(const std::string& key, std::int64_t value) override {
    return asked([&] { return store_->add(key, value); });
  }
  std::string propose(const std::string& key, const std::string& value) override {
    return asked([&] {
      const std::vector<std::uint8_t> found =
          store_->compareSet(key, {}, {value.begin(), value.end()});
      return std::string(found.begin(), found.end());
    });
  }
  std::optional<std::string> find(const std::string& key) override {
    return asked([&]() -> std::optional<std::string> {
      if (!store_->check({key})) return std::nullopt;
      const std::vector<std::uint8_t> found = store_->get(key);
      return std::string(found.begin(), found.end());
    });
  }
  const c10::intrusive_ptr<c10d::Store>& c10d() const { return store_; }

 private:
  template <class Ask>
  auto asked(const Ask& ask) -> decltype(ask()) {
    try {
      return ask();
    } catch (const std::exception& error) {
      fail("rank 0, at {}, ended while the ranks met, or the link to it broke: it says why ({})",
           place_, first_line(error.what()));
    }
  }

  std::string place_;
  c10::intrusive_ptr<c10d::Store> store_;
};

std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// The address of this host on the way to that one; empty if it is not known.
std::string address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return "";
  std::string address;
  for (const addrinfo* to = found; to != nullptr && address.empty(); to = to->ai_next) {
    const int descriptor = ::socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    auto* generic = reinterpret_cast<sockaddr*>(&own);
    // Connecting such a socket sends nothing: it chooses the way.
    if (::connect(descriptor, to->ai_addr, to->ai_addrlen) == 0 &&
        ::getsockname(descriptor, generic, &size) == 0 &&
        ::getnameinfo(generic, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      address = text.data();
    }
    ::close(descriptor);
  }
  ::freeaddrinfo(found);
  return address;
}

using Device = std::shared_ptr<gloo::transport::Device>;

Device device_of(const Placement& placement) {
  using c10d::ProcessGroupGloo;
  try {
    if (!placement.interface.empty()) {
      return ProcessGroupGloo::createDeviceForInterface(placement.interface);
    }
    const std::string address = address_towards(placement.address);
    return address.empty() ? ProcessGroupGloo::createDefaultDevice()
                           : ProcessGroupGloo::createDeviceForHostname(address);
  } catch (const std::exception& error) {
    if (placement.interface.empty()) throw;
    fail<UsageError>("--interface {}: {} (`ip address` lists the interfaces of this host)",
                     placement.interface, first_line(error.what()));
  }
}

/// LibTorch's group, whose calls wait as long as the Monitor is content.
class Processes final : public c10d::ProcessGroupGloo {
 public:
  using c10d::ProcessGroupGloo::ProcessGroupGloo;
  void be_patient() {
    for (const auto& context : contexts_) context->setTimeout(std::chrono::hours(24 * 365));
  }
  void close() {
    for (const auto& context : contexts_) context->closeConnections();
  }
};

/// Connects ranks that have met at the store. Throws what LibTorch throws if they cannot.
c10::intrusive_ptr<Processes> connect(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                      int size, const Device& device, double seconds) {
  auto options = c10d::ProcessGroupGloo::Options::create(to_milliseconds(seconds));
  options->devices.push_back(device);
  options->threads = 1;
  auto processes = c10::make_intrusive<Processes>(store, rank, size, options);
  processes->be_patient();
  return processes;
}

class GlooGroup final : public Group {
 public:
  GlooGroup(const Placement& placement, std::vector<std::string> names, Device device,
            std::shared_ptr<TcpStore> store, c10::intrusive_ptr<Processes> processes,
            std::shared_ptr<Monitor> monitor)
      : rank_(placement.rank),
        size_(placement.size),
        names_(std::move(names)),
        device_(std::move(device)),
        store_(std::move(store)),
        processes_(std::move(processes)),
        monitor_(std::move(monitor)) {}
  /// Some ranks of another group.
  GlooGroup(GlooGroup& whole, int rank, int size, c10::intrusive_ptr<Processes> processes)
      : rank_(rank),
        size_(size),
        names_(whole.names_.begin() + whole.rank_ - rank,
               whole.names_.begin() + whole.rank_ - rank + size),
        device_(whole.device_),
        processes_(std::move(processes)),
        monitor_(whole.monitor_),
        whole_(&whole) {}
  ~GlooGroup() override {
    if (processes_ && whole_ == nullptr) abort("it has ended without a word");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name_of(int rank) const override { return names_[static_cast<std::size_t>(rank)]; }

  void sum(std::span<float> values) override {
    if (size_ == 2) return sum_of_two(values);
    // Each adds up a slice of its own, and gives it to all.
    const auto count = static_cast<std::int64_t>(values.size());
    const std::int64_t slice = (count + size_ - 1) / size_;
    at::Tensor own = at::empty({slice * size_}, at::kFloat);
    std::memcpy(own.data_ptr(), values.data(), values.size_bytes());
    at::Tensor all = at::empty({slice * size_}, at::kFloat);
    finish(processes_->alltoall_base(all, own, equal_, equal_), own.nbytes());
    at::Tensor part = at::empty({slice}, at::kFloat);
    add_in_order(all, slice, part.data_ptr<float>());
    exchange_all(own, part, part.nbytes());
    std::memcpy(values.data(), own.data_ptr(), values.size_bytes());
  }

  void sum(std::span<double> values) override {
    const auto count = static_cast<std::int64_t>(values.size());
    at::Tensor own = at::empty({count}, at::kDouble);
    std::memcpy(own.data_ptr(), values.data(), values.size_bytes());
    at::Tensor all = at::empty({count * size_}, at::kDouble);
    exchange_all(all, own, own.nbytes());
    add_in_order(all, count, values.data());
  }

  std::vector<std::string> all_gather(std::string_view bytes) override {
    const std::vector<std::int64_t> sizes = sizes_of(bytes);
    const std::int64_t most = *std::ranges::max_element(sizes);
    std::vector<std::string> found(sizes.size());
    if (most == 0) return found;
    at::Tensor own = at::zeros({most}, at::kByte);
    std::memcpy(own.data_ptr(), bytes.data(), bytes.size());
    at::Tensor all = at::empty({most * size_}, at::kByte);
    exchange_all(all, own, bytes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      found[i].assign(
          static_cast<const char*>(all.data_ptr()) + static_cast<std::int64_t>(i) * most,
          static_cast<std::size_t>(sizes[i]));
    }
    return found;
  }

  std::vector<std::string> gather(std::string_view bytes) override {
    const std::vector<std::int64_t> sizes = sizes_of(bytes);
    std::vector<std::int64_t> sent(sizes.size(), 0);
    std::vector<std::int64_t> received(sizes.size(), 0);
    sent[0] = static_cast<std::int64_t>(bytes.size());
    std::int64_t total = 0;
    if (rank_ == 0) received = sizes;
    for (const std::int64_t size : received) total += size;
    at::Tensor own = at::empty({sent[0]}, at::kByte);
    std::memcpy(own.data_ptr(), bytes.data(), bytes.size());
    at::Tensor all = at::empty({total}, at::kByte);
    finish(processes_->alltoall_base(all, own, received, sent), bytes.size());
    std::vector<std::string> found;
    const char* next = static_cast<const char*>(all.data_ptr());
    for (std::size_t i = 0; rank_ == 0 && i < sizes.size(); ++i) {
      found.emplace_back(next, static_cast<std::size_t>(sizes[i]));
      next += sizes[i];
    }
    return found;
  }

  std::string broadcast(std::string_view bytes, int from) override {
    const std::vector<std::int64_t> sizes = sizes_of(rank_ == from ? bytes : "");
    const std::int64_t size = sizes[static_cast<std::size_t>(from)];
    std::vector<at::Tensor> whole = {at::empty({size}, at::kByte)};
    if (size == 0) return "";
    if (rank_ == from) std::memcpy(whole[0].data_ptr(), bytes.data(), bytes.size());
    c10d::BroadcastOptions options;
    options.rootRank = from;
    finish(processes_->broadcast(whole, options), rank_ == from ? bytes.size() : 0);
    return {static_cast<const char*>(whole[0].data_ptr()), static_cast<std::size_t>(size)};
  }

  std::unique_ptr<Group> divide(int size) override {
    const std::string prefix = fmt::format("divided/{}/{}", divisions_++, rank_ / size);
    try {
      auto processes = connect(c10::make_intrusive<c10d::PrefixStore>(prefix, store_->c10d()),
                               rank_ % size, size, device_, /*seconds=*/60);
      return std::make_unique<GlooGroup>(*this, rank_ % size, size, std::move(processes));
    } catch (const std::exception& error) {
      fail("groups of {} ranks cannot connect to each other ({})", size, first_line(error.what()));
    }
  }

  void leave() override {
    if (!processes_) return;
    all_gather("");  // the store ends with rank 0: nobody needs it any more
    monitor_.reset();
    processes_.reset();
  }

  void abort(std::string_view reason) noexcept override {
    if (!processes_) return;
    try {
      // The store ends with rank 0, which therefore waits for all to read; the rest need not.
      monitor_->announce(fmt::format("rank {}: {}", rank_, reason), rank_ == 0 ? 5 : 2);
      processes_->close();
    } catch (...) {  // what matters is to end
    }
    monitor_.reset();
    processes_.reset();
  }

  Traffic traffic() const override { return traffic_; }

 private:
  /// Each sends everything to the other and nothing to itself. Whichever of two values comes first,
  /// their sum has the same bits.
  void sum_of_two(std::span<float> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<std::int64_t> to(2, 0);
    to[static_cast<std::size_t>(1 - rank_)] = count;
    std::vector<std::int64_t> from = to;
    at::Tensor own = at::empty({count}, at::kFloat);  // a call that fails may use it for longer
    std::memcpy(own.data_ptr(), values.data(), values.size_bytes());
    at::Tensor other = at::empty({count}, at::kFloat);
    finish(processes_->alltoall_base(other, own, from, to), own.nbytes());
    const float* received = other.data_ptr<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += received[i];
  }

  /// Sums parts of `count` values each, from the first to the last.
  template <class T>
  void add_in_order(const at::Tensor& parts, std::int64_t count, T* sums) const {
    const T* part = parts.data_ptr<T>();
    std::copy_n(part, count, sums);
    for (int rank = 1; rank < size_; ++rank) {
      part += count;
      for (std::int64_t i = 0; i < count; ++i) sums[i] += part[i];
    }
  }

  /// Gives `all`, of as many equal pieces as there are ranks, what each has as `own`.
  void exchange_all(at::Tensor& all, const at::Tensor& own, std::size_t bytes) {
    // Gloo's allgather hands pieces from rank to rank, so that latencies add up. Sending copies
    // directly does not, but needs room for them.
    constexpr std::size_t kMostDirect = 64 << 20;
    if (size_ > 2 && all.nbytes() <= kMostDirect) {
      at::Tensor copies = own.repeat({size_});
      return finish(processes_->alltoall_base(all, copies, equal_, equal_), bytes);
    }
    std::vector<std::vector<at::Tensor> > pieces = {all.chunk(size_)};
    std::vector<at::Tensor> given = {own};
    finish(processes_->allgather(pieces, given), bytes);
  }

  std::vector<std::int64_t> sizes_of(std::string_view bytes) {
    at::Tensor own = at::full({1}, static_cast<std::int64_t>(bytes.size()), at::kLong);
    at::Tensor all = at::empty({size_}, at::kLong);
    exchange_all(all, own, own.nbytes());
    return {all.data_ptr<std::int64_t>(), all.data_ptr<std::int64_t>() + size_};
  }

  /// Waits for the end of a call, as long as all ranks are alive.
  void finish(const c10::intrusive_ptr<c10d::Work>& work, std::size_t bytes) {
    constexpr milliseconds kPatience(500);
    const Clock::time_point start = Clock::now();
    Traffic& traffic = whole_ != nullptr ? whole_->traffic_ : traffic_;
    traffic.bytes += static_cast<double>(bytes);
    while (true) {
      try {
        work->wait(kPatience);
        traffic.seconds += since(start);
        return;
      } catch (const std::exception& error) {
        // It may have succeeded since the patience was over.
        if (work->isCompleted() && !work->isSuccess()) fail_with_reason(first_line(error.what()));
      }
      if (const auto reason = monitor_->failure(/*broken=*/false)) {
        // A thread of LibTorch waits for the numbers of this call, which nothing ends, and is
        // waited for when the group goes: both stay until the process ends.
        c10::intrusive_ptr<Processes>(processes_).release();
        fail_because(*reason);
      }
    }
  }

  /// A connection has broken: who has ended, and why?
  [[noreturn]] void fail_with_reason(const std::string& error) {
    const Clock::time_point start = Clock::now();
    while (since(start) < kSilence) {
      if (const auto reason = monitor_->failure(/*broken=*/true)) fail_because(*reason);
      std::this_thread::sleep_for(milliseconds(50));
    }
    fail_because(fmt::format("a connection to another rank has broken ({})", error));
  }

  [[noreturn]] void fail_because(const std::string& reason) {
    processes_->close();
    if (whole_ != nullptr) whole_->fail_because(reason);
    if (rank_ == 0) monitor_->announce(reason, /*seconds=*/3);  // before the store ends
    monitor_.reset();
    processes_.reset();
    throw RankFailed(reason);
  }

  int rank_;
  int size_;
  std::vector<std::string> names_;
  Device device_;
  std::shared_ptr<TcpStore> store_;  // null for some ranks of another group
  c10::intrusive_ptr<Processes> processes_;
  std::shared_ptr<Monitor> monitor_;
  GlooGroup* whole_ = nullptr;  // the group that this one has some ranks of
  int divisions_ = 0;
  std::vector<std::int64_t> equal_;  // empty: as many values to and from each rank
  Traffic traffic_;
};

/// What a rank tells the others about itself.
std::string rank_name(int rank) {
  return fmt::format("rank {} (host {}, process {})", rank, this_host(), ::getpid());
}

[[noreturn]] void explain_store(const Placement& placement, bool serve, double seconds,
                                const std::exception& error) {
  const std::string reason = first_line(error.what());
  if (serve && reason.find("in use") != std::string::npos) {
    fail(
        "port {} of this host is in use: another training, or rank 0 was started twice; choose "
        "another MASTER_PORT",
        placement.port);
  }
  if (serve) fail("rank 0 cannot listen at {}:{}: {}", placement.address, placement.port, reason);
  fail(
      "rank 0 did not answer at {}:{} within {:.0f} s: is it running there, is MASTER_ADDR an "
      "address of its host that this one can reach, and does no firewall block the port? ({})",
      placement.address, placement.port, seconds, reason);
}

// Ranks that take part in a meeting, and those that have left it because it failed.
constexpr const char* kPresent = "present";
constexpr const char* kLeft = "left";
constexpr const char* kRefusal = "refusal";

/// Leaves a meeting that has failed. The store ends with rank 0, which therefore waits until all
/// that are there know why.
[[noreturn]] void leave_meeting(Store& store, bool serves, const std::string& reason) {
  constexpr double kSeconds = 5;
  const Clock::time_point start = Clock::now();
  std::int64_t left = store.add(kLeft, 1);
  while (serves && left < store.add(kPresent, 0) && since(start) < kSeconds) {
    std::this_thread::sleep_for(milliseconds(20));
    left = store.add(kLeft, 0);
  }
  throw Error(reason);
}

/// Waits until all have come, and finds out who they are. Throws Error if they cannot be a group.
/// Blocks for as long as the store does not answer.
std::vector<std::string> meet(Store& store, const Placement& placement, bool serves,
                              double seconds) {
  store.add(kPresent, 1);
  const auto refuse = [&](const std::string& reason) {
    leave_meeting(store, serves, store.propose(kRefusal, reason));
  };
  const std::string own = rank_name(placement.rank);
  const std::string size = fmt::format("{} ranks, says {}", placement.size, own);
  const std::string agreed = store.propose("size", size);
  if (std::atoi(agreed.c_str()) != placement.size) {
    refuse(fmt::format("the ranks disagree about their number: {}; {}", agreed, size));
  }
  const std::string first = store.propose(fmt::format("rank/{}", placement.rank), own);
  if (first != own) {  // the others go on
    leave_meeting(store, serves,
                  fmt::format("rank {} was started twice: {} has come before {}", placement.rank,
                              first, own));
  }
  const Clock::time_point start = Clock::now();
  std::vector<std::string> names(static_cast<std::size_t>(placement.size));
  while (true) {
    std::vector<int> missing;
    for (int rank = 0; rank < placement.size; ++rank) {
      std::string& name = names[static_cast<std::size_t>(rank)];
      if (name.empty()) name = store.find(fmt::format("rank/{}", rank)).value_or("");
      if (name.empty()) missing.push_back(rank);
    }
    if (missing.empty()) return names;
    if (const auto refusal = store.find(kRefusal)) leave_meeting(store, serves, *refusal);
    if (since(start) > seconds) {
      refuse(fmt::format("{} of {} ranks did not come within {:.0f} s: {}", missing.size(),
                         placement.size, seconds, fmt::join(missing, ", ")));
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
}

/// The same, whatever is at the other end: c10d waits without a limit for the answers of a store,
/// and some other program may listen at its port.
std::vector<std::string> meet_in_time(const std::shared_ptr<TcpStore>& store,
                                      const Placement& placement, bool serves, double seconds) {
  constexpr double kGrace = 6;  // beyond the time that meeting takes itself
  std::promise<std::vector<std::string> > promise;
  std::future<std::vector<std::string> > names = promise.get_future();
  // Left alone if it blocks: this process is about to end.
  std::thread([store, placement, serves, seconds, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(meet(*store, placement, serves, seconds));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  const Clock::time_point start = Clock::now();
  while (names.wait_for(milliseconds(20)) != std::future_status::ready) {
    check_interrupt();
    if (since(start) < seconds + kGrace) continue;
    fail(
        "there is a connection to {}:{}, but nothing has come from there for {:.0f} s: does "
        "another "
        "program listen at that port? Choose another MASTER_PORT; otherwise look at the network",
        placement.address, placement.port, seconds);
  }
  return names.get();
}

}  // namespace

std::unique_ptr<Group> join_group(const Placement& placement, double seconds) {
  const bool serve = placement.rank == 0 && !placement.store_of_launcher;
  std::shared_ptr<TcpStore> store;
  std::unique_ptr<TcpStore> for_monitor;
  try {
    store = std::make_shared<TcpStore>(placement, serve, seconds);
    for_monitor = std::make_unique<TcpStore>(placement, /*serve=*/false, seconds);
  } catch (const std::exception& error) {
    explain_store(placement, serve, seconds, error);
  }
  const std::vector<std::string> names = meet_in_time(store, placement, serve, seconds);
  Device device = device_of(placement);
  c10::intrusive_ptr<Processes> processes;
  try {
    processes = connect(store->c10d(), placement.rank, placement.size, device, seconds);
  } catch (const std::exception& error) {
    fail(
        "the ranks have met at {}:{}, but cannot connect to each other ({}): --interface says "
        "which network to use",
        placement.address, placement.port, first_line(error.what()));
  }
  auto monitor = std::make_shared<Monitor>(std::move(for_monitor), placement.rank, names,
                                           Monitor::Options{.silence = Group::kSilence});
  return std::make_unique<GlooGroup>(placement, names, std::move(device), std::move(store),
                                     std::move(processes), std::move(monitor));
}

bool can_form_groups() { return true; }

}  // namespace curnm

#endif
