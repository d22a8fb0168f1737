#include "curnm/data/open.h"

#include <gtest/gtest.h>

#include "curnm/base/error.h"
#include "curnm/data/synthetic.h"

namespace curnm {
namespace {

Dataset network(std::int64_t events = 300) {
  return generate({.nodes = 40, .events = events, .communities = 2}, "network");
}

TEST(IsSameNetworkTest, ByItsDigest) {
  const Dataset data = network();
  EXPECT_TRUE(is_same_network(data, data.digest(), data.extent(), /*grown=*/false));
  EXPECT_TRUE(is_same_network(data, data.digest(), {}, /*grown=*/false));
  EXPECT_FALSE(is_same_network(data, data.digest(), {299, 40}, /*grown=*/true)) << "its extent";
  EXPECT_FALSE(is_same_network(data, data.digest(), {std::int64_t{1} << 32, 40}, /*grown=*/true));
  Dataset other = generate({.nodes = 40, .events = 300, .communities = 2, .seed = 1}, "network");
  EXPECT_FALSE(is_same_network(other, data.digest(), data.extent(), /*grown=*/false));
  EXPECT_FALSE(is_same_network(other, data.digest(), data.extent(), /*grown=*/true));
}

TEST(IsSameNetworkTest, MayHaveGrownWhereThatIsAllowed) {
  const Dataset data = network();
  const Extent then{200, 40};
  const Dataset before = data.head(then);
  EXPECT_TRUE(is_same_network(data, before.digest(), then, /*grown=*/true));
  EXPECT_FALSE(is_same_network(data, before.digest(), then, /*grown=*/false));
  EXPECT_FALSE(is_same_network(data, before.digest(), {199, 40}, /*grown=*/true));
  EXPECT_FALSE(is_same_network(before, data.digest(), data.extent(), /*grown=*/true)) << "shrunk";
  EXPECT_FALSE(is_same_network(data, before.digest(), {}, /*grown=*/true)) << "of unknown extent";
}

TEST(IsSameNetworkTest, EarlierEventsMayNotHaveChanged) {
  const Dataset data = network();
  const Extent then{200, 40};
  const std::string digest = data.head(then).digest();
  Dataset changed = data;
  std::vector<NodeId> dst(data.events.dst.begin(), data.events.dst.end());
  ASSERT_NE(dst[150], data.events.src[0]);
  dst[150] = data.events.src[0];
  changed.events.dst = dst;
  EXPECT_FALSE(is_same_network(changed, digest, then, /*grown=*/true));
  dst[150] = data.events.dst[150];
  dst[250] = dst[0];
  changed.events.dst = dst;
  EXPECT_TRUE(is_same_network(changed, digest, then, /*grown=*/true)) << "later ones may";
}

TEST(DatasetHeadTest, HasTheFirstOfEverything) {
  Dataset data =
      generate({.nodes = 40, .events = 300, .communities = 2, .edge_features = 3}, "network");
  IdTable table;
  for (NodeId node = 0; node < 40; ++node) table.intern(std::to_string(node));
  data.ids = table.finish();
  data.labels = std::vector<float>(300, 1);
  const Dataset before = data.head({200, 40});
  EXPECT_EQ(before.events.size(), 200);
  EXPECT_EQ(before.labels.size(), 200);
  EXPECT_EQ(before.edge_features.rows(), 200);
  EXPECT_NE(before.digest(), data.digest());
  EXPECT_EQ(data.head(data.extent()).digest(), data.digest());
}

TEST(SyntheticOptionsTest, OneModeNetworksHaveNoShareOfSources) {
  SyntheticOptions options{.one_mode = true};
  EXPECT_THROW(refuse_idle({{"source-share", "0.5"}}, options), OptionError);
  options.one_mode = false;
  EXPECT_NO_THROW(refuse_idle({{"source-share", "0.5"}}, options));
}

}  // namespace
}  // namespace curnm
