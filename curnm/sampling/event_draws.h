#pragma once

#include <cstdint>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/sampling/distinct.h"

namespace curnm {

/// A uniformly random order of 0 .. n-1, generated lazily. Taking the first elements that satisfy a
/// condition is a uniform draw without replacement from all that satisfy it. Two draws with
/// different conditions from one order are each uniform, and mostly the same.
class RandomOrder {
 public:
  void restart(std::int64_t n, const Rng& rng) {
    n_ = n;
    rng_ = rng;
    drawn_.clear();
    rest_.clear();
    capacity_ = kFew;
    taken_.reset(capacity_);
  }
  std::int64_t size() const { return n_; }

  /// Element i. REQUIRES: i < size(). O(1) expected per new element while few have been drawn.
  std::int64_t at(std::int64_t i) {
    while (std::ssize(drawn_) <= i) draw();
    return drawn_[static_cast<std::size_t>(i)];
  }

 private:
  static constexpr std::int64_t kFew = 16;

  void draw() {
    if (2 * std::ssize(drawn_) >= n_) return draw_from_rest();
    if (std::ssize(drawn_) == capacity_) {
      capacity_ *= 4;
      taken_.reset(capacity_);
      for (const std::int64_t value : drawn_) taken_.insert(value);
    }
    while (true) {
      const auto value = static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(n_)));
      if (!taken_.insert(value)) continue;
      drawn_.push_back(value);
      return;
    }
  }

  /// Once half are taken, the rest is enumerated and drawn without misses.
  void draw_from_rest() {
    if (rest_.empty()) {
      for (std::int64_t value = 0; value < n_; ++value) {
        if (!taken_.contains(value)) rest_.push_back(value);
      }
    }
    std::swap(rest_[rng_.below(rest_.size())], rest_.back());
    drawn_.push_back(rest_.back());
    rest_.pop_back();
  }

  std::int64_t n_ = 0;
  Rng rng_{0, Stream::kCandidates};
  std::vector<std::int64_t> drawn_;
  std::vector<std::int64_t> rest_;
  TakenSet taken_;
  std::int64_t capacity_ = kFew;
};

/// All draws for one training event. The key is that of (seed, purpose, epoch), split by the event,
/// so that no draw depends on the batch that the event is in.
class EventDraws {
 public:
  /// Starts over with another event. `destinations`: how many there are to choose from.
  void restart(const Rng& key, EventId event, std::int64_t destinations) {
    key_ = key.split(static_cast<std::uint64_t>(event));
    order_.restart(destinations, key_.split(kDestinations));
  }
  /// The order of the destinations that all random negatives of the event share.
  RandomOrder& destinations() { return order_; }
  Rng partners() const { return key_.split(kPartners); }
  Rng other_source() const { return key_.split(kOtherSource); }

  DrawScratch scratch;

 private:
  enum Purpose : std::uint64_t { kDestinations, kPartners, kOtherSource };

  Rng key_{0, Stream::kCandidates};
  RandomOrder order_;
};

}  // namespace curnm
