#include "curnm/report/charts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/markup.h"

namespace curnm {
namespace {

using Ticks = std::vector<double>;

void expect_ticks(double low, double high, int count, const Ticks& expected) {
  const Ticks ticks = nice_ticks(low, high, count);
  ASSERT_EQ(ticks.size(), expected.size()) << low << " to " << high;
  for (std::size_t i = 0; i < ticks.size(); ++i) EXPECT_NEAR(ticks[i], expected[i], 1e-12);
}

TEST(NiceTicksTest, LiteralValues) {
  expect_ticks(0, 1, 4, {0, .25, .5, .75, 1});
  expect_ticks(.53, .87, 4, {.5, .6, .7, .8, .9});
  expect_ticks(0, 59, 6, {0, 10, 20, 30, 40, 50, 60});
  expect_ticks(-9.7, .4, 3, {-10, -5, 0, 5});
  expect_ticks(.8999, .9001, 4, {.8999, .89995, .9, .90005, .9001});
}

TEST(NiceTicksTest, EncloseTheRange) {
  for (double low = -3; low < 3; low += .37) {
    for (double width = 1e-6; width < 1e6; width *= 3.1) {
      const Ticks ticks = nice_ticks(low, low + width, 4);
      EXPECT_LE(ticks.front(), low + 1e-6 * width);
      EXPECT_GE(ticks.back(), low + width * (1 - 1e-6));
      EXPECT_LE(ticks.size(), 7U);
    }
  }
}

TEST(LineChartTest, GapsLiftThePen) {
  const std::string chart = line_chart(
      {"title", {{"a", 0, {{0, .5}, {1, kNoValue}, {2, .7}, {3, .6}}}}, {0, 3}, Range{0, 1}});
  // From 52 to 346 pixels for epochs 0 to 3, from 138 up to 8 for 0 to 1.
  EXPECT_NE(chart.find("d=\"M52 73M248 47L346 60\""), std::string::npos) << chart;
  EXPECT_EQ(testing::tag_fault(chart), "");
}

TEST(LineChartTest, BandsAreMeanPlusMinusSpread) {
  const std::string chart =
      line_chart({"title", {{"a", 2, {{0, .5, .1}, {3, .5, .5}}}}, {0, 3}, Range{0, 1}});
  EXPECT_NE(chart.find("<path class=\"band s2\" d=\"M52 60L346 8L346 138L52 86Z\"/>"),
            std::string::npos)
      << chart;
}

// Two curves that are the same: each has markers of its own at every other epoch.
TEST(LineChartTest, MarkersTakeTurns) {
  const std::vector<Point> points = {{0, .5}, {1, .5}, {2, .5}, {3, .5}};
  const std::string chart =
      line_chart({"title", {{"a", 1, points}, {"b", 1, points}}, {0, 3}, Range{0, 1}});
  const std::string square = "h5v5h-5z";  // its upper left corner is 2.5 above and left of a point
  EXPECT_NE(chart.find("<path class=\"dots s1\" d=\"M49.5 70.5" + square + "M245.5 70.5" + square),
            std::string::npos)
      << chart;
  EXPECT_NE(chart.find("<path class=\"dots s1\" d=\"M147.5 70.5" + square + "M343.5 70.5" + square),
            std::string::npos)
      << chart;
}

TEST(LineChartTest, TheBestEpochIsMarkedInChartAndKey) {
  EpochChart chart = {"title", {{"a", 0, {{0, .5}, {3, .5}}}}, {0, 3}, Range{0, 1}};
  EXPECT_EQ((line_chart(chart) + line_key(chart)).find("best"), std::string::npos);
  chart.best_epoch = 1.5;
  for (const std::string& drawn : {line_chart(chart), area_chart(chart)}) {
    EXPECT_NE(drawn.find("<path class=\"best-epoch\" d=\"M199 8V138\"/>"), std::string::npos)
        << drawn;
  }
  chart.best_epoch = 2;
  EXPECT_NE(line_key(chart).find("</svg>best epoch, 2</li>"), std::string::npos);
  EXPECT_NE(area_key(chart).find("</svg>best epoch, 2</li>"), std::string::npos);
}

TEST(AreaChartTest, LayersLieOnEachOther) {
  const std::string chart =
      area_chart({"t", {{"a", 0, {{0, .5}, {1, .5}}}, {"b", 1, {{0, .5}, {1, .25}}}}, {0, 1}, {}});
  EXPECT_NE(chart.find("class=\"area a0\" d=\"M52 73L346 73L346 138L52 138Z\""), std::string::npos)
      << chart;
  EXPECT_NE(chart.find("class=\"area a1\" d=\"M52 8L346 40.5L346 73L52 73Z\""), std::string::npos)
      << chart;
}

TEST(ChartsTest, OnePointNothingAndEqualValuesAreDrawn) {
  for (const std::vector<Point>& points :
       {std::vector<Point>{}, {{0, .5}}, {{0, .5}, {1, .5}}, {{0, 0}, {1, 0}}, {{0, kNoValue}}}) {
    const std::string chart = line_chart({"t", {{"a", 0, points}}, {0, 0}, {}});
    EXPECT_EQ(testing::tag_fault(chart), "");
    EXPECT_EQ(chart.find("nan"), std::string::npos);
  }
}

TEST(BarChartTest, MissingValuesAndLongNames) {
  const std::string chart =
      bar_chart("t", {{"without temporal-aware embeddings", -2, .5, Mark::kBelow},
                      {"ä<b>", kNoValue},
                      {"same", 0}});
  EXPECT_EQ(testing::tag_fault(chart), "");
  EXPECT_NE(chart.find(">without temporal-awa…<"), std::string::npos);
  EXPECT_NE(chart.find(">−2.00 ▼<"), std::string::npos);
  EXPECT_NE(chart.find("ä&lt;b&gt;"), std::string::npos);
  EXPECT_NE(chart.find(">–<"), std::string::npos);
  EXPECT_NE(chart.find(">0.00<"), std::string::npos);
  EXPECT_EQ(chart.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace curnm
