#include "curnm/data/append.h"

#include <gtest/gtest.h>

#include "curnm/data/open.h"
#include "support/errors.h"

namespace curnm {
namespace {

using testing::fails;
using Names = std::vector<std::string>;

Dataset letters() {
  IdTable ids;
  for (const char* name : {"a", "b", "c"}) ids.intern(name);
  Dataset data;
  data.events = {std::vector<NodeId>{0, 1}, std::vector<NodeId>{1, 2}, std::vector<Timestamp>{1, 2},
                 /*num_nodes=*/3};
  data.edge_features = {std::vector<float>{0.5F, 1.5F}, /*width=*/1};
  data.ids = ids.finish();
  return data;
}

Dataset longer(const Dataset& data, const Names& src, const Names& dst,
               const std::vector<Timestamp>& time, std::vector<float> features = {}) {
  return append(data, {.src = src,
                       .dst = dst,
                       .time = time,
                       .features = {std::move(features), data.edge_features.width}});
}

TEST(Append, KnownAndNewNodes) {
  const Dataset data = letters();
  const Dataset grown = longer(data, {"c", "d"}, {"a", "c"}, {2, 5}, {2.5F, 3.5F});
  EXPECT_EQ(grown.events.size(), 4);
  EXPECT_EQ(grown.events.num_nodes, 4);
  EXPECT_EQ(grown.ids.name(grown.events.src.back()), "d");
  EXPECT_EQ(grown.events.dst.back(), 2);
  EXPECT_EQ(grown.edge_features.row(3)[0], 3.5F);
  EXPECT_TRUE(is_same_network(grown, data.digest(), data.extent(), /*grown=*/true));
}

TEST(Append, NumbersWithoutNames) {
  Dataset data;
  data.events = {std::vector<NodeId>{0}, std::vector<NodeId>{1}, std::vector<Timestamp>{0}, 2};
  EXPECT_EQ(longer(data, {"1"}, {"2"}, {3}).events.num_nodes, 3);
  EXPECT_TRUE(fails([&] { longer(data, {"1"}, {"100"}, {3}); }, {"node '100'", "0 .. 1"}));
  EXPECT_TRUE(fails([&] { longer(data, {"x"}, {"1"}, {3}); }, {"node 'x'"}));
}

TEST(Append, EventsThatDoNotFit) {
  Dataset data = letters();
  EXPECT_TRUE(fails([&] { longer(data, {"a"}, {"b"}, {1}, {0}); }, {"time 1", "precedes 2"}));
  EXPECT_TRUE(fails([&] { longer(data, {"a"}, {}, {3}, {0}); }, {"differ in length"}));
  EXPECT_TRUE(fails([&] { longer(data, {"a"}, {"b"}, {3}); }, {"1 per event"}));
  data.node_features = {std::vector<float>{1, 2, 3}, /*width=*/1};
  EXPECT_TRUE(fails([&] { longer(data, {"a"}, {"z"}, {3}, {0}); }, {"1 new nodes"}));
}

}  // namespace
}  // namespace curnm
