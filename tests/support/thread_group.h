#pragma once

#include <barrier>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "curnm/distributed/group.h"

namespace curnm::testing {

/// Ranks that are threads of this process.
class ThreadGroup final : public Group {
 public:
  struct Meeting {
    explicit Meeting(int size) : given(static_cast<std::size_t>(size)), all(size) {}
    std::vector<std::string> given;
    std::barrier<> all;
    std::mutex mutex;
    std::map<int, std::shared_ptr<Meeting>> divided;  // by the first rank of those that meet
  };
  ThreadGroup(std::shared_ptr<Meeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_->given.size()); }
  std::string name_of(int rank) const override { return "rank " + std::to_string(rank); }
  std::vector<std::string> all_gather(std::string_view bytes) override {
    meeting_->given[static_cast<std::size_t>(rank_)] = bytes;
    meeting_->all.arrive_and_wait();
    std::vector<std::string> found = meeting_->given;
    meeting_->all.arrive_and_wait();
    return found;
  }
  std::vector<std::string> gather(std::string_view bytes) override {
    std::vector<std::string> found = all_gather(bytes);
    return rank_ == 0 ? found : std::vector<std::string>{};
  }
  std::string broadcast(std::string_view bytes, int from) override {
    return all_gather(bytes)[static_cast<std::size_t>(from)];
  }
  void sum(std::span<float> values) override { sum_of(values); }
  void sum(std::span<double> values) override { sum_of(values); }
  std::unique_ptr<Group> divide(int size) override {
    const int first = rank_ - rank_ % size;
    const std::scoped_lock lock(meeting_->mutex);
    std::shared_ptr<Meeting>& meeting = meeting_->divided[first];
    if (!meeting) meeting = std::make_shared<Meeting>(size);
    return std::make_unique<ThreadGroup>(meeting, rank_ - first);
  }
  void leave() override {}
  void abort(std::string_view) noexcept override {}
  Traffic traffic() const override { return {}; }

 private:
  template <class T>
  void sum_of(std::span<T> values) {
    const auto all =
        all_gather({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    for (std::size_t i = 0; i < values.size(); ++i) {
      T total = reinterpret_cast<const T*>(all[0].data())[i];
      for (std::size_t r = 1; r < all.size(); ++r) {
        total += reinterpret_cast<const T*>(all[r].data())[i];
      }
      values[i] = total;
    }
  }

  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

/// Calls `work` on as many threads, each with its rank.
inline void on_ranks(int size, const std::function<void(Group&)>& work) {
  const auto meeting = std::make_shared<ThreadGroup::Meeting>(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadGroup group(meeting, rank);
      work(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace curnm::testing
