#include "curnm/training/snapshot_length.h"

#include <gtest/gtest.h>

namespace curnm {
namespace {

/// `times`, each of `repeated` events.
EventLog log_at(const std::vector<Timestamp>& times, int repeated, NodeId nodes) {
  std::vector<Timestamp> time;
  for (Timestamp t : times) time.insert(time.end(), static_cast<std::size_t>(repeated), t);
  return {std::vector<NodeId>(time.size(), 0), std::vector<NodeId>(time.size(), 1), time, nodes};
}

TEST(SnapshotLengthTest, TogetherTheySpanOneEventPerNode) {
  // 6 events in 50 seconds: 8.3 seconds each, so 12 nodes take 100 seconds.
  const EventLog log = log_at({0, 10, 20, 30, 40, 50}, 1, 12);
  EXPECT_DOUBLE_EQ(suitable_snapshot_length(log, 1), 100);
  EXPECT_DOUBLE_EQ(suitable_snapshot_length(log, 4), 25);
}

TEST(SnapshotLengthTest, AtLeastTheStepBetweenTimes) {
  EXPECT_DOUBLE_EQ(suitable_snapshot_length(log_at({1990, 1992, 1994}, 100, 5), 3), 2);
}

TEST(SnapshotLengthTest, AnyLengthServesWhereAllIsAtOnce) {
  EXPECT_DOUBLE_EQ(suitable_snapshot_length(log_at({7}, 10, 5), 3), 1);
}

}  // namespace
}  // namespace curnm
