#pragma once

#include <cstdint>
#include <vector>

#include "curnm/base/rng.h"
#include "curnm/sampling/distinct.h"

namespace curnm {

/// A uniformly random order of 0 .. n-1, made as far as it is asked for. Whoever takes the first
/// elements that suit him has a uniform draw without replacement from those that do; and two who
/// take from one order have draws that are uniform each, and mostly the same.
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

  /// Element i. REQUIRES: i < size(). O(1) expected for each that is new, while few were asked for.
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

  /// Most are taken: what is left is enumerated once and drawn without misses.
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

/// Everything that is drawn about one training event. The key is that of (seed, purpose, epoch);
/// the event splits it, so that no draw depends on the batch that the event is in.
class EventDraws {
 public:
  /// Begins with an event anew. `destinations`: how many there are to choose from.
  void restart(const Rng& key, EventId event, std::int64_t destinations) {
    key_ = key.split(static_cast<std::uint64_t>(event));
    order_.restart(destinations, key_.split(kDestinations));
  }
  /// The one order of the destinations, for all random negatives of the event.
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
