#include "curnm/sampling/negative_kinds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "curnm/graph/distinct_nodes.h"
#include "curnm/sampling/indices.h"
#include "support/chi_square.h"
#include "support/naive.h"
#include "support/random_log.h"

namespace curnm {
namespace {

using testing::make_log;
using testing::random_log;

constexpr KindCounts only(CandidateKind kind, double count) {
  KindCounts counts = {};
  counts[static_cast<std::size_t>(kind)] = count;
  return counts;
}

struct Scene {
  explicit Scene(EventLog events)
      : log(std::move(events)),
        indices(log),
        ids(index(log.size())),
        kinds(log, indices.past(), distinct_nodes({log.dst.begin(), log.dst.end()})) {
    std::iota(ids.begin(), ids.end(), EventId{0});
  }
  EventBatch all() const { return {log.src.span(), log.dst.span(), log.time.span(), ids}; }
  bool happens(NodeId u, NodeId v, Timestamp t) const {
    return testing::naive_occurs(log, u, v, t, t);
  }
  bool met_before(NodeId u, NodeId v, Timestamp t) const {
    return testing::naive_occurs(log, u, v, -1e18, std::nextafter(t, -1e18));
  }

  EventLog log;
  Indices indices;
  std::vector<EventId> ids;
  NegativeKinds kinds;
};

TEST(NegativeKindsTest, EachIsOfItsKindAndNoEventAtItsTime) {
  const Scene scene(random_log(2, {.nodes = 30, .events = 300, .distinct_times = 100}));
  KindCounts counts = {};
  counts.fill(3);
  counts[static_cast<std::size_t>(CandidateKind::kHard)] = 0;
  const EventBatch batch = scene.all();
  const ExtraPairs found = scene.kinds.draw(batch, counts, Rng(1, Stream::kTest));
  ASSERT_EQ(found.kinds.size(), found.rows.size());
  ASSERT_TRUE(std::is_sorted(found.rows.begin(), found.rows.end()));
  std::map<CandidateKind, int> seen;
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    const auto row = index(found.rows[i]);
    const NodeId u = found.src[i];
    const NodeId v = found.dst[i];
    const Timestamp t = batch.time[row];
    ++seen[found.kinds[i]];
    EXPECT_FALSE(scene.happens(u, v, t));
    switch (found.kinds[i]) {
      case CandidateKind::kRandom:
      case CandidateKind::kPopular:
        EXPECT_EQ(u, batch.src[row]);
        break;
      case CandidateKind::kHistorical: {
        EXPECT_EQ(u, batch.src[row]);
        bool has_partner = false;
        for (NodeId w = 0; w < 30; ++w) {
          has_partner |= (scene.met_before(u, w, t) || scene.met_before(w, u, t)) &&
                         !scene.happens(u, w, t) && !scene.happens(w, u, t);
        }
        if (has_partner) {
          EXPECT_TRUE(scene.met_before(u, v, t) || scene.met_before(v, u, t));
        }
        break;
      }
      case CandidateKind::kFormerPair:
      case CandidateKind::kNewPair:
        EXPECT_TRUE(scene.met_before(u, v, t));
        break;
      default:
        break;
    }
  }
  EXPECT_EQ(seen[CandidateKind::kRandom], 900);
  EXPECT_EQ(seen[CandidateKind::kRandomPair], 900);
  EXPECT_GT(seen[CandidateKind::kHistorical], 700);
  EXPECT_GT(seen[CandidateKind::kPopular], 800);
  EXPECT_GT(seen[CandidateKind::kFormerPair], 800);
  EXPECT_GT(seen[CandidateKind::kNewPair], 800);
  EXPECT_EQ(seen.count(CandidateKind::kHard), 0U);
}

TEST(NegativeKindsTest, FormerPairsAreDrawnUniformly) {
  // Five pairs, some more often than others, then the question.
  const Scene scene(make_log(
      {{0, 4, 1}, {0, 4, 2}, {0, 4, 3}, {1, 4, 4}, {1, 5, 5}, {2, 5, 6}, {3, 5, 7}, {0, 5, 9}}, 6));
  std::map<std::pair<NodeId, NodeId>, std::int64_t> counts;
  constexpr std::int64_t kDraws = 20'000;
  const EventBatch last = scene.all().part(7, 8);
  const ExtraPairs found =
      scene.kinds.draw(last, only(CandidateKind::kFormerPair, kDraws), Rng(3, Stream::kTest));
  for (std::size_t i = 0; i < found.src.size(); ++i) ++counts[{found.src[i], found.dst[i]}];
  ASSERT_EQ(counts.size(), 5U);
  std::vector<std::int64_t> observed;
  for (const auto& [pair, count] : counts) observed.push_back(count);
  EXPECT_TRUE(testing::equally_frequent(observed));
}

TEST(NegativeKindsTest, NewPairsAreThoseOfAPeriodThatBeganLately) {
  // A thousand pairs, one after the other, and then the question.
  std::vector<testing::Event> rows;
  for (int pair = 0; pair < 1000; ++pair) rows.push_back({pair / 40, 25 + pair % 40, 1.0 + pair});
  rows.push_back({0, 25, 2000});
  const Scene scene(make_log(rows, 65));
  constexpr std::int64_t kDraws = 20'000;
  const ExtraPairs found = scene.kinds.draw(
      scene.all().part(1000, 1001), only(CandidateKind::kNewPair, kDraws), Rng(3, Stream::kTest));
  const auto share_newer_than = [&](int rank) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < found.src.size(); ++i) {
      count += 999 - (found.src[i] * 40 + found.dst[i] - 25) < rank;
    }
    return static_cast<double>(count) / kDraws;
  };
  // With a period that began within the newest 200 pairs, P(rank < x) = x / 200 (1 + ln(200 / x)).
  EXPECT_EQ(share_newer_than(200), 1);
  EXPECT_NEAR(share_newer_than(100), 0.8466, 0.01);
  EXPECT_NEAR(share_newer_than(20), 0.3303, 0.01);
}

TEST(NegativeKindsTest, FractionsAreAverages) {
  const Scene scene(random_log(5, {.nodes = 30, .events = 4000, .distinct_times = 4000}));
  const ExtraPairs found =
      scene.kinds.draw(scene.all(), only(CandidateKind::kRandom, 1.25), Rng(1, Stream::kTest));
  EXPECT_NEAR(static_cast<double>(found.size()) / 4000, 1.25, 0.03);
  std::vector<int> of_rows(4000, 0);
  for (const std::int64_t row : found.rows) ++of_rows[index(row)];
  for (const int count : of_rows) EXPECT_TRUE(count == 1 || count == 2) << count;
}

// No former partner, no former pair, no newer event, one destination.
TEST(NegativeKindsTest, GivesFewerWhereThereAreNone) {
  const Scene scene(make_log({{0, 1, 1}, {0, 2, 1}}, 3));
  const EventBatch batch = scene.all();
  const auto draw = [&](CandidateKind kind) {
    return scene.kinds.draw(batch, only(kind, 2), Rng(1, Stream::kTest)).size();
  };
  EXPECT_EQ(draw(CandidateKind::kFormerPair), 0);
  EXPECT_EQ(draw(CandidateKind::kNewPair), 0);
  EXPECT_EQ(draw(CandidateKind::kPopular), 0);
  EXPECT_EQ(draw(CandidateKind::kHistorical), 0) << "and all destinations are events at its time";
  EXPECT_EQ(draw(CandidateKind::kRandomPair), 0);
}

TEST(NegativeKindsTest, WhoHasNoFormerPartnerIsAskedAboutAnyone) {
  const Scene scene(make_log({{0, 3, 1}, {1, 4, 2}, {2, 5, 3}}, 6));
  const ExtraPairs found =
      scene.kinds.draw(scene.all(), only(CandidateKind::kHistorical, 1), Rng(1, Stream::kTest));
  ASSERT_EQ(found.size(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found.kinds[i], CandidateKind::kHistorical);
    EXPECT_NE(found.dst[i], scene.log.dst[static_cast<EventId>(i)]);
  }
}

}  // namespace
}  // namespace curnm
