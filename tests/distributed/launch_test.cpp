#include "curnm/distributed/launch.h"

#include <gtest/gtest.h>

#include <map>

namespace curnm {
namespace {

using Settings = std::map<std::string, std::string>;

std::optional<Placement> placed(const Settings& settings) {
  return placement_by_launcher([&](const char* name) -> const char* {
    const auto found = settings.find(name);
    return found == settings.end() ? nullptr : found->second.c_str();
  });
}

TEST(LaunchTest, FindsTheRankThatLaunchersGive) {
  const Settings address = {{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  for (const auto& [rank, size] : {std::pair("RANK", "WORLD_SIZE"),
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"}}) {
    Settings settings = address;
    settings[rank] = "2";
    settings[size] = "4";
    const std::optional<Placement> found = placed(settings);
    ASSERT_TRUE(found) << rank;
    EXPECT_EQ(found->rank, 2);
    EXPECT_EQ(found->size, 4);
    EXPECT_EQ(found->address, "10.0.0.1");
    EXPECT_EQ(found->port, 29500);
    EXPECT_FALSE(found->store_of_launcher);
  }
}

TEST(LaunchTest, IsAloneWithoutALauncherOrWithOneProcess) {
  EXPECT_FALSE(placed({}));
  EXPECT_FALSE(placed({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_FALSE(placed({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}))
      << "a batch script outside of srun is no rank";
}

TEST(LaunchTest, SlurmImpliesAddressAndPort) {
  const std::optional<Placement> found = placed({{"SLURM_PROCID", "1"},
                                                 {"SLURM_STEP_NUM_TASKS", "2"},
                                                 {"SLURM_STEP_NODELIST", "node[07-09]"},
                                                 {"SLURM_JOB_ID", "12345678"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, "node07");
  EXPECT_EQ(found->port, 25678);
}

TEST(LaunchTest, RefusesSettingsThatCannotBe) {
  const Settings good = {
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}};
  EXPECT_TRUE(placed(good));
  for (const auto& [name, value] : {std::pair("RANK", "2"),
                                    {"RANK", "-1"},
                                    {"RANK", "x"},
                                    {"RANK", ""},
                                    {"WORLD_SIZE", "0"},
                                    {"WORLD_SIZE", "2x"},
                                    {"MASTER_PORT", "70000"},
                                    {"MASTER_PORT", ""},
                                    {"MASTER_ADDR", ""}}) {
    Settings bad = good;
    bad[name] = value;
    EXPECT_THROW(placed(bad), UsageError) << name << "=" << value;
  }
}

TEST(LaunchTest, ReadsTheFirstHostOfAList) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[07-09,12],login"), "node07");
  EXPECT_EQ(first_host("node[3]"), "node3");
  EXPECT_EQ(first_host("n[1-2]-ib,x"), "n1-ib");
  EXPECT_EQ(first_host("a,n[1-2]"), "a");
  EXPECT_EQ(first_host("n[1"), "");
  EXPECT_EQ(first_host(""), "");
}

}  // namespace
}  // namespace curnm
