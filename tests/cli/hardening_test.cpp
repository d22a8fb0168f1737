#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/cli_fixture.h"

// Files that are damaged, planted or changed while they are in use.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::CommandResult;
using testing::contains;

class HardenedCli : public testing::Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    ASSERT_EQ(curnm("generate --nodes 30 --events 600 --communities 3 --out net").exit_code, 0);
  }
  static std::string train(const std::string& epochs) {
    return "train net --model jodie --width 8 --time-width 4 --batch 100 --out run --epochs " +
           epochs;
  }
};

TEST_F(HardenedCli, NumbersOfARunAreCheckedAgainstTheData) {
  ASSERT_EQ(curnm(train("1")).exit_code, 0);
  fs::remove(folder_ / "run/model");  // so that the record of the run is used
  const json good = json::parse(read("run/options.json"));
  const auto refused = [&](const char* key, const json& value, const std::string& reason) {
    json forged = good;
    forged[key] = value;
    write("run/options.json", forged.dump());
    const CommandResult result = curnm("predict run --src 1 --time 1e9");
    EXPECT_EQ(result.exit_code, 3) << key << value << result.err;
    EXPECT_TRUE(contains(result.err, reason)) << result.err;
    EXPECT_FALSE(contains(result.err, "json.exception")) << result.err;
  };
  refused("events", 4294967296, "has 600 events, and not 4294967296");
  refused("events", 400, "has 600 events, and not 400");
  refused("events", -1, "'events' is -1");
  refused("events", "600", "'events' is \"600\" instead of a whole number");
  refused("nodes", 4294967326, "'nodes' is 4294967326");
  refused("nodes", 20, "is not the network that this run was trained on");
  refused("threads", 1e18, "'threads' is");
  refused("version", 7, "type must be string");
  write("run/options.json", good.dump());
  EXPECT_EQ(curnm("predict run --src 1 --time 1e9").exit_code, 0);
}

TEST_F(HardenedCli, AFileThatBecomesShorterEndsTheProgramWithASentence) {
  const CommandResult result = shell(CURNM_BINARY " " + train("1000000") +
                                     " & sleep 2; kill -BUS $!; wait $!; echo \"exit code $?\"");
  EXPECT_TRUE(contains(result.out, "exit code 1\n")) << result.out;
  EXPECT_TRUE(contains(result.err, "a file in use has become shorter")) << result.err;
}

TEST_F(HardenedCli, PlantedLinksAreNotFollowed) {
  ASSERT_EQ(curnm(train("1")).exit_code, 0);
  write("victim", "precious");
  fs::create_symlink("victim", folder_ / "report.html.partial");
  ASSERT_EQ(curnm("report run --out report.html").exit_code, 0);
  EXPECT_EQ(read("victim"), "precious");
}

TEST_F(HardenedCli, MessagesHaveNoControlCharacters) {
  const CommandResult result = curnm("stats \"$(printf 'a\\033[2Jb')\"");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_FALSE(contains(result.err, "\x1b")) << result.err;
  EXPECT_TRUE(contains(result.err, "a\\x1b[2Jb")) << result.err;
}

TEST_F(HardenedCli, LongNamesGetShortAnswers) {
  // A single argument may have 128 kB.
  const CommandResult result = curnm("list --$(head -c 100000 /dev/zero | tr '\\0' x)");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_LT(result.err.size(), 1000U);
}

}  // namespace
}  // namespace curnm
