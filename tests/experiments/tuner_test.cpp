#include "curnm/experiments/tuner.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace curnm {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(PaperGrid, HasItsPoints) {
  const std::vector<Dimension> grid = paper_grid(400);
  EXPECT_EQ(number_of_points(grid), 6480);
  EXPECT_EQ(grid[3].values, (std::vector<std::string>{"40", "200", "400"}));
}

TEST(PaperGrid, HasNoScheduleOfNoLength) {
  EXPECT_EQ(paper_grid(4)[3].values, (std::vector<std::string>{"1", "2", "4"}));
  EXPECT_EQ(paper_grid(2)[3].values, (std::vector<std::string>{"1", "2"})) << "each once";
}

TEST(Points, CoverTheGridOnce) {
  const std::vector<Dimension> space = {{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}};
  std::set<std::pair<std::string, std::string>> seen;
  for (std::int64_t point = 0; point < number_of_points(space); ++point) {
    const Job job = job_of_point(space, point, {.flags = {{"epochs", "5"}}});
    EXPECT_EQ(job.flags.at("epochs"), "5");
    seen.insert({job.flags.at("a"), job.flags.at("b")});
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(job_of_point(space, 1, {}).flags.at("b"), "y") << "the last runs fastest";
}

TEST(Points, AreDrawnWithoutReplacementByTheirSeed) {
  const std::vector<Dimension> space = paper_grid(400);
  const std::vector<std::int64_t> points = random_points(space, 100, 1);
  EXPECT_EQ(std::set<std::int64_t>(points.begin(), points.end()).size(), 100U);
  EXPECT_EQ(points, random_points(space, 100, 1));
  EXPECT_NE(points, random_points(space, 100, 2));
  const std::vector<std::int64_t> fewer = random_points(space, 10, 1);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), points.begin()))
      << "a study can be made larger";
  EXPECT_EQ(random_points(space, 10'000, 1).size(), 6480U);
}

TEST(Points, AreDrawnUniformly) {
  const std::vector<Dimension> space = {{"a", {"0", "1", "2", "3", "4"}}};
  std::vector<int> counts(5);
  for (std::uint64_t seed = 0; seed < 5000; ++seed) ++counts[random_points(space, 1, seed)[0]];
  for (int count : counts) EXPECT_NEAR(count, 1000, 130);  // 4.6 standard deviations
}

TEST(Halving, GivesTheBestMoreEpochs) {
  const auto rungs = halving_rungs(/*trials=*/27, /*first=*/6, /*epochs=*/60, /*reduction=*/3);
  ASSERT_EQ(rungs.size(), 4U);
  const std::int64_t trials[] = {27, 9, 3, 1};
  const std::int64_t epochs[] = {6, 18, 54, 60};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rungs[i].trials, trials[i]);
    EXPECT_EQ(rungs[i].epochs, epochs[i]);
  }
}

TEST(Halving, EndsWithAllEpochsWhateverItStartsFrom) {
  for (std::int64_t trials : {1, 2, 5, 100}) {
    for (std::int64_t first : {1, 7, 60, 90}) {
      const auto rungs = halving_rungs(trials, first, 60, 2);
      EXPECT_EQ(rungs.back().epochs, 60);
      EXPECT_GE(rungs.back().trials, 1);
      EXPECT_EQ(rungs.front().trials, trials);
      for (std::size_t i = 1; i < rungs.size(); ++i) {
        EXPECT_LT(rungs[i - 1].epochs, rungs[i].epochs);
        EXPECT_GE(rungs[i - 1].trials, rungs[i].trials);
      }
    }
  }
}

TEST(BestOf, TakesTheFirstOfEqualsAndNoFailure) {
  const std::vector<double> scores = {.5, kNaN, .7, .7, .6};
  EXPECT_EQ(best_of(scores, 3), (std::vector<std::size_t>{2, 3, 4}));
  EXPECT_EQ(best_of(scores, 9), (std::vector<std::size_t>{2, 3, 4, 0}));
  EXPECT_TRUE(best_of(std::vector<double>{kNaN}, 1).empty());
}

}  // namespace
}  // namespace curnm
