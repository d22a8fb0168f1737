#include "curnm/distributed/monitor.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace curnm {
namespace {

/// What a store holds, for several ranks of this process.
struct Values {
  std::mutex mutex;
  std::map<std::string, std::int64_t> counters;
  std::map<std::string, std::string> texts;
  bool ended = false;
};

class TestStore final : public Store {
 public:
  explicit TestStore(std::shared_ptr<Values> values) : values_(std::move(values)) {}
  std::int64_t add(const std::string& key, std::int64_t value) override {
    const std::scoped_lock lock(values_->mutex);
    if (values_->ended) throw std::runtime_error("connection reset by peer");
    return values_->counters[key] += value;
  }
  std::string propose(const std::string& key, const std::string& value) override {
    const std::scoped_lock lock(values_->mutex);
    return values_->texts.try_emplace(key, value).first->second;
  }
  std::optional<std::string> find(const std::string& key) override {
    const std::scoped_lock lock(values_->mutex);
    const auto found = values_->texts.find(key);
    return found == values_->texts.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::shared_ptr<Values> values_;
};

/// Silences are far longer than a busy machine keeps a thread from running, but for the one that is
/// waited for.
constexpr double kLong = 600;
constexpr Monitor::Options kPatient{.interval = 0.01, .silence = kLong, .short_silence = kLong};

std::unique_ptr<Monitor> monitor_of(const std::shared_ptr<Values>& values, int rank,
                                    const Monitor::Options& options = kPatient, int size = 2) {
  std::vector<std::string> names;
  for (int i = 0; i < size; ++i) names.push_back("rank " + std::to_string(i));
  return std::make_unique<Monitor>(std::make_unique<TestStore>(values), rank, names, options);
}

/// Asks until there is a failure.
std::string failure_of(Monitor& monitor, bool broken = false) {
  while (true) {
    if (const auto reason = monitor.failure(broken)) return *reason;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(MonitorTest, NamesARankThatIsSilent) {
  const auto values = std::make_shared<Values>();
  const auto alive =
      monitor_of(values, 0, {.interval = 0.01, .silence = kLong, .short_silence = 2});
  EXPECT_EQ(failure_of(*alive, /*broken=*/true), "rank 1 has not answered for 2 s");
}

TEST(MonitorTest, NamesAllThatAreSilentTogetherAndItselfIfItHearsNobody) {
  constexpr Monitor::Options kShort{.interval = 0.01, .silence = 2, .short_silence = 2};
  const auto values = std::make_shared<Values>();
  const auto first = monitor_of(values, 0, kShort, /*size=*/4);
  const auto second = monitor_of(values, 1, kShort, /*size=*/4);
  EXPECT_EQ(failure_of(*first), "rank 2, rank 3 have not answered for 2 s");
  const auto alone = monitor_of(std::make_shared<Values>(), 0, kShort, /*size=*/3);
  EXPECT_EQ(failure_of(*alone),
            "no other rank has answered rank 0 for 2 s: its network may be down");
}

TEST(MonitorTest, TellsAllTheReasonOfTheFirst) {
  const auto values = std::make_shared<Values>();
  const auto first = monitor_of(values, 0);
  const auto second = monitor_of(values, 1);
  second->announce("rank 1: the disk is full", /*seconds=*/5);
  EXPECT_EQ(failure_of(*first), "rank 1: the disk is full");
  first->announce("rank 0: something else", /*seconds=*/5);
  EXPECT_EQ(failure_of(*second), "rank 1: the disk is full");
}

TEST(MonitorTest, NoticesTheEndOfTheStore) {
  const auto values = std::make_shared<Values>();
  const auto alive = monitor_of(values, 1);
  {
    const std::scoped_lock lock(values->mutex);
    values->ended = true;
  }
  EXPECT_EQ(failure_of(*alive), "rank 0 has ended");
}

}  // namespace
}  // namespace curnm
