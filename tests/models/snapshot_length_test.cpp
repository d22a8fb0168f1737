#include "curnm/models/snapshot_length.h"

#include <gtest/gtest.h>

namespace curnm {
namespace {

/// `times`, each of `repeated` events between nodes 0 .. nodes-1 in turn; the network has more.
EventLog log_at(const std::vector<Timestamp>& times, int repeated, NodeId nodes) {
  std::vector<Timestamp> time;
  for (Timestamp t : times) time.insert(time.end(), static_cast<std::size_t>(repeated), t);
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  for (std::size_t i = 0; i < time.size(); ++i) {
    src.push_back(static_cast<NodeId>(2 * i) % nodes);
    dst.push_back(static_cast<NodeId>(2 * i + 1) % nodes);
  }
  return {src, dst, time, nodes + 100};
}

double length_of(const EventLog& log, std::int64_t snapshots) {
  RunFacts facts;
  add_pace(log, facts);
  return suitable_snapshot_length(facts, snapshots);
}

TEST(SnapshotLengthTest, TogetherTheySpanOneEventPerNode) {
  // 6 events in 50 seconds: 8.3 seconds each, so 12 nodes take 100 seconds. Nodes without an event
  // do not count: they may appear only later.
  const EventLog log = log_at({0, 10, 20, 30, 40, 50}, 1, 12);
  EXPECT_DOUBLE_EQ(length_of(log, 1), 100);
  EXPECT_DOUBLE_EQ(length_of(log, 4), 25);
}

TEST(SnapshotLengthTest, AtLeastTheStepBetweenTimes) {
  EXPECT_DOUBLE_EQ(length_of(log_at({1990, 1992, 1994}, 100, 5), 3), 2);
}

TEST(SnapshotLengthTest, AnyLengthServesWhereAllIsAtOnce) {
  EXPECT_DOUBLE_EQ(length_of(log_at({7}, 10, 5), 3), 1);
}

}  // namespace
}  // namespace curnm
