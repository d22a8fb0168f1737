#include "curnm/sampling/walk_sketch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/naive.h"
#include "support/random_log.h"
#include "support/scoped_threads.h"

namespace curnm {
namespace {

using testing::random_log;

struct Observed {
  explicit Observed(EventLog events) : log(std::move(events)), ids(index(log.size())) {
    std::iota(ids.begin(), ids.end(), EventId{0});
  }
  EventBatch batch(std::int64_t begin, std::int64_t end) const {
    return EventBatch{log.src.span(), log.dst.span(), log.time.span(), ids}.part(index(begin),
                                                                                 index(end));
  }
  EventLog log;
  std::vector<EventId> ids;
};

std::vector<float> pair_at(const WalkSketch& sketch, NodeId u, NodeId v, Timestamp t) {
  return sketch.of_pairs(Links(Pairs{{&u, 1}, {&v, 1}, {&t, 1}}));
}

/// Position of the product of vectors a and b of a pair: 0 .. 2 are u's, 3 .. 5 v's.
std::size_t product(std::size_t a, std::size_t b) {
  return a * WalkSketch::kVectors - a * (a + 1) / 2 + b;
}

/// Weighted walks of up to two steps between all nodes, as matrices, updated event by event.
class NaiveWalks {
 public:
  NaiveWalks(NodeId nodes, double decay) : decay_(decay), size_(index(nodes)) {
    for (auto& matrix : walks_) matrix.assign(size_ * size_, 0);
    for (std::size_t i = 0; i < size_; ++i) walks_[0][i * size_ + i] = 1;
    times_.assign(size_, kNever);
  }
  void add(NodeId u, NodeId v, Timestamp t) {
    for (const NodeId node : {u, v}) decay(index(node), t);
    if (u == v) return;
    auto next = walks_;
    for (std::size_t l = 1; l < walks_.size(); ++l) {
      for (std::size_t j = 0; j < size_; ++j) {
        next[l][index(u) * size_ + j] += walks_[l - 1][index(v) * size_ + j];
        next[l][index(v) * size_ + j] += walks_[l - 1][index(u) * size_ + j];
      }
    }
    walks_ = next;
  }
  /// The inner product of the rows of two nodes at t.
  double operator()(NodeId a, std::size_t la, NodeId b, std::size_t lb, Timestamp t) {
    decay(index(a), t);
    decay(index(b), t);
    double sum = 0;
    for (std::size_t j = 0; j < size_; ++j) {
      sum += walks_[la][index(a) * size_ + j] * walks_[lb][index(b) * size_ + j];
    }
    return sum;
  }

 private:
  void decay(std::size_t node, Timestamp t) {
    if (times_[node] != kNever) {
      for (std::size_t l = 1; l < walks_.size(); ++l) {
        const double factor = std::exp(-decay_ * static_cast<double>(l) * (t - times_[node]));
        for (std::size_t j = 0; j < size_; ++j) walks_[l][node * size_ + j] *= factor;
      }
    }
    times_[node] = t;
  }

  double decay_;
  std::size_t size_;
  std::array<std::vector<double>, 3> walks_;
  std::vector<Timestamp> times_;
};

// The sketch estimates inner products of rows of walks: over many seeds its mean is exact.
TEST(WalkSketchTest, EstimatesTheNumberOfDecayingWalks) {
  const Observed seen(random_log(3, {.nodes = 8, .events = 24, .distinct_times = 24}));
  constexpr double kDecay = 0.05;
  constexpr Timestamp kNow = 30;
  NaiveWalks naive(8, kDecay);
  for (EventId e = 0; e + 1 < seen.log.size(); ++e) {
    naive.add(seen.log.src[e], seen.log.dst[e], seen.log.time[e]);
  }
  constexpr int kSeeds = 400;
  for (const auto& [u, v] : std::vector<std::pair<NodeId, NodeId>>{{0, 1}, {2, 5}, {6, 3}}) {
    std::vector<double> means(index(WalkSketch::kStatistics), 0);
    for (int seed = 0; seed < kSeeds; ++seed) {
      WalkSketch sketch(
          {.num_nodes = 8, .decay = kDecay, .seed = static_cast<std::uint64_t>(seed)});
      sketch.observe(seen.batch(0, seen.log.size()));  // the last event waits for a later one
      const std::vector<float> row = pair_at(sketch, u, v, kNow);
      for (std::size_t i = 0; i < row.size(); ++i) means[i] += std::expm1(row[i]) / kSeeds;
    }
    for (std::size_t la = 0; la < 3; ++la) {
      // Of a node with itself all terms are positive: the cut at 0 changes no mean.
      const double own = naive(u, la, u, la, kNow);
      EXPECT_NEAR(means[product(la, la)], own, 0.05 * own + 0.05) << u << " " << la;
    }
    const double met = naive(u, 1, v, 1, kNow);
    EXPECT_NEAR(means[product(1, 4)], met, 0.1 * met + 0.15) << u << " " << v;
  }
}

TEST(WalkSketchTest, BatchesDoNotMatter) {
  const Observed seen(random_log(4, {.events = 90, .distinct_times = 30}));
  WalkSketch at_once({.num_nodes = 12, .decay = 0.1});
  WalkSketch in_parts({.num_nodes = 12, .decay = 0.1});
  at_once.observe(seen.batch(0, 90));
  for (const auto& [begin, end] : {std::pair(0, 7), std::pair(7, 50), std::pair(50, 90)}) {
    in_parts.observe(seen.batch(begin, end));
  }
  EXPECT_EQ(at_once.vectors, in_parts.vectors);
  EXPECT_EQ(at_once.times, in_parts.times);
  EXPECT_EQ(at_once.pending.size(), in_parts.pending.size());
}

TEST(WalkSketchTest, EventsAtOneTimeDoNotSeeEachOther) {
  const Observed seen(testing::make_log({{0, 1, 5}, {1, 2, 5}, {2, 3, 5}}, 4));
  WalkSketch sketch({.num_nodes = 4});
  const std::vector<float> before = pair_at(sketch, 0, 1, 5);
  for (std::int64_t i = 0; i < 3; ++i) {
    sketch.observe(seen.batch(i, i + 1));
    EXPECT_EQ(pair_at(sketch, 0, 1, 5), before) << "what happens at 5 is invisible at 5";
  }
  const Observed later(testing::make_log({{3, 2, 6}}, 4));
  sketch.observe(later.batch(0, 1));
  EXPECT_NE(pair_at(sketch, 0, 1, 6), before);
}

TEST(WalkSketchTest, ForgetsAndIsAFunctionOfItsSeed) {
  const Observed seen(random_log(5));
  WalkSketch sketch({.num_nodes = 12, .seed = 1});
  const std::vector<float> fresh = pair_at(sketch, 0, 1, 9);
  sketch.observe(seen.batch(0, 80));
  EXPECT_NE(pair_at(sketch, 0, 1, 99), fresh);
  sketch.forget();
  EXPECT_EQ(pair_at(sketch, 0, 1, 9), fresh);
  EXPECT_EQ(pair_at(WalkSketch({.num_nodes = 12, .seed = 1}), 0, 1, 9), fresh);
  EXPECT_NE(pair_at(WalkSketch({.num_nodes = 12, .seed = 2}), 0, 1, 9), fresh);
}

TEST(WalkSketchTest, ThreadsDoNotMatter) {
  const Observed seen(random_log(6, {.nodes = 40, .events = 400, .distinct_times = 400}));
  WalkSketch sketch({.num_nodes = 40, .decay = 0.01});
  sketch.observe(seen.batch(0, 400));
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  for (NodeId u = 0; u < 40; ++u) {
    for (NodeId v = 0; v < 40; ++v) {
      src.push_back(u);
      dst.push_back(v);
    }
  }
  const std::vector<Timestamp> time(src.size(), 500);
  const Links links(Pairs{src, dst, time});
  const testing::ScopedThreads one(1);
  const std::vector<float> rows = sketch.of_pairs(links);
  const testing::ScopedThreads four(4);
  EXPECT_EQ(sketch.of_pairs(links), rows);
  for (const float value : rows) ASSERT_TRUE(std::isfinite(value) && value >= 0);
}

}  // namespace
}  // namespace curnm
