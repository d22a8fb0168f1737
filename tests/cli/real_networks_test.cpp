#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/real_data.h"
#include "support/run_command.h"

// The published networks against the paper's table of statistics.

namespace curnm {
namespace {

struct Published {
  const char* name;
  std::int64_t events;
  std::int64_t nodes;
  std::int64_t distinct_times;
  const char* proximity;
  const char* recency;  // percent
  const char* repetition;
  const char* density;
  const char* d_max;
};

void PrintTo(const Published& network, std::ostream* out) { *out << network.name; }

class RealNetwork : public ::testing::TestWithParam<Published> {};

TEST_P(RealNetwork, HasThePublishedStatistics) {
  const Published& published = GetParam();
  const auto path = testing::real_network(published.name);
  if (path.empty()) GTEST_SKIP() << published.name << " is not at hand (set CURNM_DATA)";
  const auto result = testing::run_command(CURNM_BINARY " stats " + path.string() + " --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto s = nlohmann::json::parse(result.out);
  EXPECT_EQ(s["events"], published.events);
  EXPECT_EQ(s["nodes"], published.nodes);
  EXPECT_EQ(s["distinct_times"], published.distinct_times);
  EXPECT_EQ(fmt::format("{:.0f}", s["proximity"].get<double>()), published.proximity);
  EXPECT_EQ(fmt::format("{:.0f}", 100 * s["recency"].get<double>()), published.recency);
  EXPECT_EQ(fmt::format("{:.0f}", 100 * s["repetition"].get<double>()), published.repetition);
  EXPECT_EQ(fmt::format("{:.2e}", s["density"].get<double>()), published.density);
  EXPECT_EQ(fmt::format("{:.2e}", s["d_max"].get<double>()), published.d_max);
}

INSTANTIATE_TEST_SUITE_P(
    Paper, RealNetwork,
    ::testing::Values(
        Published{"uci", 59835, 1899, 58911, "58", "34", "77", "5.63e-07", "1.55e+03"},
        Published{"USLegis", 60396, 225, 12, "103", "40", "72", "1.98e-01", "1.20e+03"},
        Published{"WIKI", 157474, 9227, 152757, "62", "79", "88", "2.42e-08", "1.94e+03"},
        Published{"MOOC", 411749, 7144, 345600, "30", "20", "57", "4.80e-08", "1.95e+04"}),
    [](const auto& network) { return std::string(network.param.name); });

}  // namespace
}  // namespace curnm
