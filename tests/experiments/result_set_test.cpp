#include "curnm/experiments/result_set.h"

#include <gtest/gtest.h>

#include "support/results.h"

namespace curnm {
namespace {

std::vector<std::string> shortened(const std::vector<std::string>& networks) {
  ResultSet results;
  for (const std::string& network : networks) {
    results.runs.push_back(testing::scored_run(network, "tgn", "curnm", 0, .5));
  }
  shorten_networks(results);
  std::vector<std::string> names;
  for (const RunResult& run : results.runs) names.push_back(run.network);
  return names;
}

TEST(ShortenNetworksTest, PathsBecomeTheirLastPart) {
  EXPECT_EQ(
      shortened({"data/uci", "data/uci", "/srv/shop.csv", "lists/", "WIKI", "synthetic:drift"}),
      (std::vector<std::string>{"uci", "uci", "shop.csv", "lists", "WIKI", "synthetic:drift"}));
}

TEST(ShortenNetworksTest, TwoNetworksDoNotBecomeOne) {
  EXPECT_EQ(shortened({"a/uci", "b/uci", "c/WIKI", "WIKI", "d/shop"}),
            (std::vector<std::string>{"a/uci", "b/uci", "c/WIKI", "WIKI", "shop"}));
  EXPECT_EQ(shortened({"/", ""}), (std::vector<std::string>{"/", ""}));
}

}  // namespace
}  // namespace curnm
