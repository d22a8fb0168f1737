#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/cli_fixture.h"
#include "support/http_server.h"

// The program as a person meets it: what is typed, what is printed, which exit code.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;

using testing::contains;

class Cli : public testing::Cli {};

TEST_F(Cli, GenerateThenStatsThenJson) {
  const CommandResult made = curnm("generate --preset drift --events 3000 --nodes 200 --out net");
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(contains(made.out, "net: 3,000 events, 200 nodes, digest ")) << made.out;

  const CommandResult text = curnm("stats net");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_TRUE(contains(text.out, "recency")) << text.out;
  EXPECT_EQ(text.err, "");

  const CommandResult json = curnm("stats net --json");
  ASSERT_EQ(json.exit_code, 0);
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["events"], 3000);
  for (const char* key :
       {"nodes", "proximity", "recency", "repetition", "density", "d_max", "distinct_times"}) {
    EXPECT_TRUE(parsed.contains(key)) << key;
  }
}

TEST_F(Cli, TwoProgramsAreOneToWhoeverTypes) {
  // The one that people start lists the commands of the other.
  for (const char* question : {" --help", " --version", ""}) {
    const CommandResult front = shell(std::string(CURNM_BINARY) + question);
    const CommandResult torch = shell(std::string(CURNM_TORCH_BINARY) + question);
    EXPECT_EQ(front.exit_code, torch.exit_code) << question;
    EXPECT_EQ(front.out, torch.out) << question;
    EXPECT_EQ(front.err, torch.err) << question;
  }
  for (const char* mistake : {" stats", " stats --jsn", " import --help", " negatives --help"}) {
    const CommandResult front = shell(std::string(CURNM_BINARY) + mistake);
    const CommandResult torch = shell(std::string(CURNM_TORCH_BINARY) + mistake);
    EXPECT_EQ(front.out + front.err, torch.out + torch.err) << mistake;
  }
}

TEST_F(Cli, CommandsThatDoWithoutLibTorchDoNotLoadIt) {
  const auto loaded = [&](const std::string& arguments) {
    const CommandResult result = shell("LD_DEBUG=files " CURNM_BINARY " " + arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments;
    return contains(result.err, "libtorch");
  };
  write("events.csv", "src,dst,time\n1,2,5\n");
  for (const char* arguments :
       {"--help", "generate --events 500 --out net", "stats net", "import events.csv --out copy",
        "negatives net --out negatives.csv"}) {
    EXPECT_FALSE(loaded(arguments)) << arguments;
  }
  EXPECT_TRUE(loaded("list"));
}

TEST_F(Cli, TheSecondProgramIsFoundWhereItIsInstalled) {
  fs::create_directories(folder_ / "bin");
  fs::create_directories(folder_ / "libexec/curnm");
  fs::copy_file(CURNM_BINARY, folder_ / "bin/curnm");
  const CommandResult alone = shell("bin/curnm list");
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_TRUE(contains(alone.err, "needs the program curnm-torch")) << alone.err;
  EXPECT_TRUE(contains(alone.err, "/libexec/curnm/curnm-torch")) << alone.err;
  EXPECT_EQ(shell("bin/curnm stats synthetic").exit_code, 0);
  fs::copy_file(CURNM_TORCH_BINARY, folder_ / "libexec/curnm/curnm-torch");
  EXPECT_EQ(shell("bin/curnm list").exit_code, 0);
  // Reached by a link as well, as many keep their programs.
  fs::create_symlink(folder_ / "bin/curnm", folder_ / "link");
  EXPECT_EQ(shell("./link list").exit_code, 0);
}

TEST_F(Cli, ThreadsThatWaitSleepUnlessTheEnvironmentSaysOtherwise) {
  // Asked of a script in place of the second program.
  fs::create_directories(folder_ / "bin");
  fs::copy_file(CURNM_BINARY, folder_ / "bin/curnm");
  write("bin/curnm-torch", "#!/bin/sh\necho $GOMP_SPINCOUNT $OMP_WAIT_POLICY $*\n");
  fs::permissions(folder_ / "bin/curnm-torch", fs::perms::owner_all);
  const std::string unset = "env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY ";
  EXPECT_EQ(shell(unset + "bin/curnm train x --seed 3").out, "10000 train x --seed 3\n");
  EXPECT_EQ(shell(unset + "GOMP_SPINCOUNT=7 bin/curnm eval x").out, "7 eval x\n");
  EXPECT_EQ(shell(unset + "OMP_WAIT_POLICY=active bin/curnm eval x").out, "active eval x\n");
}

TEST_F(Cli, FlagsOverrideThePresetWhateverTheirOrder) {
  const CommandResult before = curnm("generate --events 500 --preset sparse --out a");
  const CommandResult after = curnm("generate --preset sparse --events 500 --out b");
  ASSERT_EQ(before.exit_code, 0) << before.err;
  EXPECT_TRUE(contains(before.out, "a: 500 events, 6,000 nodes")) << before.out;
  EXPECT_EQ(before.out.substr(2), after.out.substr(2));
}

TEST_F(Cli, ImportedAndRawNetworksHaveTheSameDigest) {
  write("events.csv", "src,dst,time\nann,bob,1\nbob,carl,2.5\nann,carl,2.5\n");
  const CommandResult imported = curnm("import events.csv --out net");
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const auto raw = nlohmann::json::parse(curnm("stats events.csv --json").out);
  const auto stored = nlohmann::json::parse(curnm("stats net --json").out);
  EXPECT_EQ(raw["digest"], stored["digest"]);
  EXPECT_EQ(raw["nodes"], 3);
}

TEST_F(Cli, UnsortedInputIsSortedAndSaidSo) {
  write("events.csv", "src,dst,time\n1,2,5\n1,3,4\n");
  const CommandResult result = curnm("import events.csv --out net");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "note: the events were not in time order")) << result.err;
}

TEST_F(Cli, ExistingOutputNeedsForce) {
  write("events.csv", "src,dst,time\n1,2,5\n");
  ASSERT_EQ(curnm("import events.csv --out net").exit_code, 0);
  const CommandResult again = curnm("import events.csv --out net");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(contains(again.err, "--force")) << again.err;
  EXPECT_EQ(curnm("import events.csv --out net --force").exit_code, 0);
}

TEST_F(Cli, ForceNeverReplacesWhatIsNotADataSet) {
  write("events.csv", "src,dst,time\n1,2,5\n");
  fs::create_directory(folder_ / "precious");
  write("precious/diary.txt", "dear diary");
  const CommandResult result = curnm("import events.csv --out precious --force");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "is not a curnm data set")) << result.err;
  EXPECT_TRUE(fs::exists(folder_ / "precious/diary.txt"));
}

TEST_F(Cli, AFailedImportLeavesNothingBehind) {
  write("events.csv", "src,dst,time\n1,2,5\n1,2,x\n");
  const std::size_t before = entries();
  const CommandResult result = curnm("import events.csv --out net");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "events.csv:3: time 'x' is not a number")) << result.err;
  EXPECT_EQ(entries(), before);
}

TEST_F(Cli, MistypedFlagsAndNamesSuggestTheNearest) {
  const CommandResult flag = curnm("import x.csv --ot net");
  EXPECT_EQ(flag.exit_code, 2);
  EXPECT_TRUE(contains(flag.err, "unknown option '--ot'; did you mean '--out'?")) << flag.err;

  const CommandResult command = curnm("generat --out net");
  EXPECT_EQ(command.exit_code, 2);
  EXPECT_TRUE(contains(command.err, "did you mean 'generate'?")) << command.err;

  const CommandResult preset = curnm("generate --preset drfit --out net");
  EXPECT_EQ(preset.exit_code, 2);
  EXPECT_TRUE(contains(preset.err, "did you mean 'drift'?")) << preset.err;

  const CommandResult format = curnm("import . --format cvs --out net");
  EXPECT_EQ(format.exit_code, 2);
  EXPECT_TRUE(contains(format.err, "did you mean 'csv'?")) << format.err;

  const CommandResult network = curnm("fetch wikki --out net");
  EXPECT_EQ(network.exit_code, 2);
  EXPECT_TRUE(contains(network.err, "did you mean 'WIKI'?")) << network.err;
}

TEST_F(Cli, ValuesOutOfRangeNameTheRange) {
  const CommandResult result = curnm("generate --repeat 1.5 --out net");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "--repeat 1.5 is out of range")) << result.err;
  EXPECT_TRUE(contains(result.err, "between 0 and 1")) << result.err;
}

TEST_F(Cli, MissingThingsAreErrorsNotCrashes) {
  EXPECT_EQ(curnm("stats nowhere").exit_code, 1);
  EXPECT_EQ(curnm("stats").exit_code, 2);
  EXPECT_EQ(curnm("").exit_code, 2);
  EXPECT_EQ(curnm("stats synthetic:nonsense").exit_code, 2);
  EXPECT_EQ(curnm("generate --out /proc/nonsense/net").exit_code, 1);
  EXPECT_EQ(curnm("--help").exit_code, 0);
  EXPECT_EQ(curnm("--version").exit_code, 0);
}

TEST_F(Cli, AFullOutputIsReported) {
  const CommandResult full = curnm("stats synthetic > /dev/full");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_TRUE(contains(full.err, "cannot write")) << full.err;
}

TEST_F(Cli, AReaderThatHasReadEnoughIsNoError) {
  // The reader is gone before anything is written.
  const CommandResult unread =
      shell("( sleep 1; " CURNM_BINARY " stats synthetic; echo $? >&2 ) | true");
  EXPECT_EQ(unread.err, "141\n");
}

TEST_F(Cli, ADiskThatFillsUpIsReportedAndLeavesNothing) {
  // A limit on the size of files stands in for the disk: blocks of 1 KiB.
  const CommandResult result = shell("ulimit -f 64 && " CURNM_BINARY " generate --out net");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "cannot write")) << result.err;
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Cli, AnImportKilledAtAnyInstantLeavesNothingThatLooksFinished) {
  std::string table = "src,dst,time\n";
  for (int i = 0; i < 200000; ++i) {
    table +=
        std::to_string(i % 977) + "," + std::to_string(i % 1009) + "," + std::to_string(i) + "\n";
  }
  write("events.csv", table);
  int killed = 0;
  for (int milliseconds = 5; milliseconds <= 125; milliseconds += 15) {
    const CommandResult result = shell("timeout -s KILL " + std::to_string(milliseconds * 1e-3) +
                                       " " CURNM_BINARY " import events.csv --out net --force");
    killed += result.exit_code == 0 ? 0 : 1;
    if (fs::exists(folder_ / "net")) {
      EXPECT_EQ(curnm("stats net --json").exit_code, 0) << milliseconds;
    }
  }
  EXPECT_GT(killed, 0) << "no kill came early enough to test anything";
}

TEST_F(Cli, FetchRefusesAFileWithOtherCountsAndWritesNothing) {
  testing::HttpServer server(testing::HttpReply{.body = "src,dst,time\n1,2,3\n2,3,4\n"});
  const CommandResult result =
      curnm("fetch uci --cache cache --out net --url " + server.url("/uci.csv"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "59835")) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "net"));
}

TEST_F(Cli, BenchSamplerPrintsTheAgreedKeys) {
  const CommandResult result = curnm("bench sampler --data synthetic --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto parsed = nlohmann::json::parse(result.out);
  for (const char* key : {"recent_roots_per_s", "uniform2_roots_per_s", "history_draws_per_s"}) {
    EXPECT_GT(parsed[key].get<double>(), 0) << key;
  }
}

}  // namespace
}  // namespace curnm
