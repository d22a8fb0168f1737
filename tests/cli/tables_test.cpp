#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "support/cli_fixture.h"

// People's own tables, on the command line.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Cli;
using testing::CommandResult;
using testing::contains;

class TablesCli : public Cli {
 protected:
  /// A small table of users and items with overlapping numbers.
  void write_ratings(const std::string& name, int rows, const std::string& header = kHeader) const {
    std::string text = header + "\n";
    for (int i = 0; i < rows; ++i) {
      text += std::to_string(i * 7 % 23) + "," + std::to_string(i * 5 % 17) + "," +
              std::to_string(i % 5) + "," + std::to_string(1700000000 + 60 * i) + "\n";
    }
    write(name, text);
  }
  json options() const { return json::parse(read("run/options.json")); }

  static constexpr const char* kHeader = "userId,movieId,rating,timestamp";
  static constexpr const char* kTrain =
      " --model light --miner random --epochs 1 --threads 1 --out run";
};

TEST_F(TablesCli, OptionsOfReadingBelongToEveryCommandAndToTheRecordOfARun) {
  write_ratings("ratings.csv", 800);
  EXPECT_EQ(json::parse(curnm("stats ratings.csv --json").out)["nodes"], 40);
  EXPECT_EQ(json::parse(curnm("stats ratings.csv --separate-ids off --json").out)["nodes"], 23);
  write_ratings("plain.csv", 800, "src,dst,rating,time");
  // Both spellings, also before the file.
  EXPECT_EQ(json::parse(curnm("stats --separate-ids plain.csv --json").out)["nodes"], 40);
  EXPECT_EQ(json::parse(curnm("stats --separate-ids on plain.csv --json").out)["nodes"], 40);

  const CommandResult trained =
      curnm("train plain.csv --separate-ids on --drop-columns rating" + std::string(kTrain));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(options()["nodes"], 40);
  EXPECT_EQ(options()["read"]["separate-ids"], "on");
  const CommandResult again = curnm("eval run --protocol random --threads 1");
  EXPECT_EQ(again.exit_code, 0) << again.err << "read as it was for the training";
  const CommandResult top = curnm("predict run --src 5 --time 2030-01-01 --topk 1");
  EXPECT_EQ(top.exit_code, 0) << top.err;
  EXPECT_TRUE(contains(top.out, "src:5,dst:")) << top.out;
  EXPECT_TRUE(contains(top.out, ",1893456000,")) << top.out;
  EXPECT_TRUE(contains(top.err, "--time 2030-01-01 has no zone and is taken as UTC")) << top.err;
  write("pairs.csv", "src,dst,time\n5,7,2030-01-01T00:00:00Z\n");
  const CommandResult pairs = curnm("predict run --pairs pairs.csv");
  EXPECT_TRUE(contains(pairs.out, "src:5,dst:7,1893456000,")) << pairs.out << pairs.err;

  write("raw.csv", "src,dst,time\n\x1b[2J,7,1\n");
  const CommandResult raw = curnm("predict run --pairs raw.csv");
  EXPECT_EQ(raw.exit_code, 1);
  EXPECT_TRUE(contains(raw.err, "raw.csv:2: the node id '\\x1b[2J' is not UTF-8")) << raw.err;
  write("names.txt", "5\n\x1b[2J\n");
  const CommandResult names = curnm("predict run --sources names.txt --time 2030-01-01");
  EXPECT_EQ(names.exit_code, 1);
  EXPECT_TRUE(contains(names.err, "names.txt:2: '\\x1b[2J' is not UTF-8")) << names.err;

  const CommandResult other = curnm("eval run --separate-ids off");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_TRUE(contains(other.err, "it has 23 nodes instead of 40")) << other.err;
  EXPECT_EQ(curnm("train --resume run --empty drop").exit_code, 2) << "a run keeps its options";
  ASSERT_EQ(curnm("import plain.csv --separate-ids --drop-columns rating --out net").exit_code, 0);
  EXPECT_EQ(curnm("eval run --data net --protocol random --threads 1").exit_code, 0)
      << "the same network, imported";
  const CommandResult imported = curnm("stats net --separate-ids on");
  EXPECT_EQ(imported.exit_code, 2);
  EXPECT_TRUE(contains(imported.err, "for raw tables")) << imported.err;
}

// What people have, without a flag: it trains to the figures of the table that somebody who knows
// this program would have prepared.
TEST_F(TablesCli, TablesAsTheyComeTrainLikePreparedOnes) {
  struct Row {
    int user, item, minute;
    double amount;
    bool paid;
  };
  std::vector<Row> rows;
  std::mt19937 random(3);
  std::lognormal_distribution<> amount(6, 2);
  for (int i = 0; i < 1500; ++i) {
    // Everyone has a favourite, and the rest is chance.
    const int user = static_cast<int>(random() % 40);
    const int item = random() % 3 > 0 ? user * 7 % 30 : static_cast<int>(random() % 30);
    rows.push_back({user, item, i, std::round(100 * amount(random)) / 100, random() % 2 == 0});
  }
  const auto table = [&](const std::string& name, std::string text, const auto& line) {
    for (const Row& row : rows) text += line(row);
    write(name, text);
  };
  constexpr int kStart = 1704067200;  // 2024-01-01
  const auto date = [](const Row& row) {
    return fmt::format("2024-01-{:02} {:02}:{:02}:00", row.minute / 1440 + 1, row.minute / 60 % 24,
                       row.minute % 60);
  };
  table("ratings.csv", "userId,movieId,rating,timestamp\n", [&](const Row& row) {
    return fmt::format("{},{},{:.1f},{}\n", row.user, row.item, 0.5 * (row.minute % 10),
                       kStart + 60 * row.minute);
  });
  table("ratings_prepared.csv", "src,dst,time,rating\n", [&](const Row& row) {
    return fmt::format("user:{},movie:{},{},{}\n", row.user, row.item, kStart + 60 * row.minute,
                       0.5 * (row.minute % 10));
  });
  table("pandas.csv", ",customer,product,created_at,amount,paid\n", [&](const Row& row) {
    return fmt::format("{},c{},p{},{},{},{}\n", row.minute, row.user, row.item, date(row),
                       row.amount, row.paid ? "True" : "False");
  });
  table("pandas_prepared.csv", "src,dst,time,amount,paid\n", [&](const Row& row) {
    return fmt::format("customer:c{},product:p{},{},{},{}\n", row.user, row.item,
                       kStart + 60 * row.minute, row.amount, row.paid ? 1 : 0);
  });
  table("lines.jsonl", "", [&](const Row& row) {
    return fmt::format("{{\"ts\": {}, \"sender\": \"ann {}\", \"receiver\": \"bob {}\"}}\n",
                       kStart + 60 * row.minute, row.user, row.item);
  });
  table("lines_prepared.csv", "src,dst,time\n", [&](const Row& row) {
    return fmt::format("ann {},bob {},{}\n", row.user, row.item, kStart + 60 * row.minute);
  });
  const auto figures = [&](const std::string& file) {
    fs::remove_all(folder_ / "run");
    const CommandResult trained = curnm("train " + file + " --epochs 2 --threads 1 --out run");
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    const json result = json::parse(read("run/result.json"), nullptr, false);
    return json{result["test"], result["test_new"], result["best_baseline"]};
  };
  for (const std::string name : {"ratings", "pandas", "lines"}) {
    const json found = figures(name + (name == "lines" ? ".jsonl" : ".csv"));
    EXPECT_EQ(found, figures(name + "_prepared.csv")) << name;
    EXPECT_GT(found[0]["trans"]["ap"], 0.6) << name;
  }
}

TEST_F(TablesCli, WhatDiffersFromTheDataOfARunIsSaid) {
  write_ratings("ratings.csv", 800);
  ASSERT_EQ(curnm("train ratings.csv" + std::string(kTrain)).exit_code, 0);
  write_ratings("shorter.csv", 790);
  const CommandResult shorter = curnm("eval run --data shorter.csv");
  EXPECT_EQ(shorter.exit_code, 3);
  EXPECT_TRUE(contains(shorter.err, "it has 790 events instead of 800")) << shorter.err;
  ASSERT_EQ(shell("sed 's/,1700000000$/,1700000001/' ratings.csv > time.csv").exit_code, 0);
  const CommandResult time = curnm("eval run --data time.csv");
  EXPECT_TRUE(contains(time.err, "as many events and nodes, but another time, ")) << time.err;
  ASSERT_EQ(shell("sed '2s/,0,17/,9,17/' ratings.csv > feature.csv").exit_code, 0);
  const CommandResult feature = curnm("eval run --data feature.csv");
  EXPECT_TRUE(contains(feature.err,
                       "another edge features, the first event that differs is "
                       "between 1 and 12 ("))
      << feature.err;
  ASSERT_EQ(
      shell("awk -F, -v OFS=, '{print $0, NR == 1 ? \"a,b\" : NR % 7 \",\" NR % 5}' ratings.csv "
            "> three.csv; rm -r run")
          .exit_code,
      0);
  ASSERT_EQ(curnm("train three.csv" + std::string(kTrain)).exit_code, 0);
  ASSERT_EQ(shell("sed -i '9s/,[0-9]*,\\([0-9]*\\)$/,77,\\1/' three.csv").exit_code, 0);
  const CommandResult second = curnm("eval run");
  EXPECT_TRUE(contains(second.err, "another edge feature 2, the first event that differs is "))
      << second.err;
  ASSERT_EQ(shell("rm -r run").exit_code, 0);
  ASSERT_EQ(curnm("train ratings.csv" + std::string(kTrain)).exit_code, 0);
  ASSERT_EQ(shell("sed '401s/,[0-9.]*,17/,9,17/' ratings.csv > later.csv").exit_code, 0);
  const CommandResult later = curnm("eval run --data later.csv");
  EXPECT_TRUE(contains(later.err, "between 388 and 400 (")) << later.err;
}

TEST_F(TablesCli, FewTestEventsAreSaidWithTheFigures) {
  write_ratings("few.csv", 300);
  const CommandResult trained = curnm("train few.csv" + std::string(kTrain));
  EXPECT_TRUE(contains(trained.err, "note: the test has 45 events: with fewer than 100"))
      << trained.err;
  EXPECT_TRUE(contains(curnm("eval run --threads 1").err, "the test has 45 events"));
  EXPECT_TRUE(contains(curnm("eval few.csv --model popularity").err, "the test has 45 events"));
}

TEST_F(TablesCli, SplitsAtDates) {
  write_ratings("ratings.csv", 800);
  const CommandResult split = curnm(
      "train ratings.csv --split at --validation-from 2023-11-15T08:00Z "
      "--test-from '2023-11-15 10:00:00'" +
      std::string(kTrain));
  ASSERT_EQ(split.exit_code, 0) << split.err;
  EXPECT_EQ(options()["task"]["test-from"], 1700042400);
  const CommandResult wrong = curnm("train ratings.csv --split at --test-from noon");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(contains(wrong.err, "--test-from noon: a number, or a date such as 2024-"))
      << wrong.err;
}

TEST_F(TablesCli, MessagesDoNotSendBytesOfAFileToTheTerminal) {
  write("bad.csv", "src,dst,time\na,b,\x1b[2J\n");
  const CommandResult bad = curnm("stats bad.csv");
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_TRUE(contains(bad.err, "\\x1b[2J")) << bad.err;
  EXPECT_FALSE(contains(bad.err, "\x1b"));
  write("name.csv", "src,dst,time,a\x1b[2J\na,b,1,x\na,b,2,y\n");
  EXPECT_FALSE(contains(curnm("stats name.csv").err, "\x1b")) << "in a note";
}

TEST_F(TablesCli, WhatOtherProgramsCallAFlag) {
  for (const auto& [given, ours] :
       std::vector<std::pair<std::string, std::string>>{{"--lr", "--learning-rate"},
                                                        {"--batch-size", "--batch"},
                                                        {"--wd", "--weight-decay"},
                                                        {"--num-epochs", "--epochs"},
                                                        {"--gpu", "--device"},
                                                        {"--learning-rat", "--learning-rate"}}) {
    const CommandResult result = curnm("train synthetic " + given + " 1");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(
        contains(result.err, "unknown option '" + given + "'; did you mean '" + ours + "'?"))
        << result.err;
  }
}

TEST_F(TablesCli, ValuesThatCannotBeReadSayWhatWasExpected) {
  const auto error = [&](const std::string& arguments) { return curnm(arguments).err; };
  EXPECT_TRUE(
      contains(error("train synthetic --threads x"), "--threads x: a whole number was expected"));
  EXPECT_TRUE(contains(error("train synthetic --checkpoint-seconds soon"),
                       "--checkpoint-seconds soon: a number was expected"));
  EXPECT_TRUE(contains(error("predict run --src a --time noon"),
                       "--time noon: a number, or a date such as 2024-"));
}

TEST_F(TablesCli, ADeviceThatIsMissingIsExplained) {
  if (contains(curnm("doctor").out, "CUDA")) GTEST_SKIP() << "this LibTorch has CUDA";
  const CommandResult result = curnm("train synthetic --device cuda --out run");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "built without CUDA")) << result.err;
  EXPECT_TRUE(contains(result.err, "CMAKE_PREFIX_PATH")) << result.err;
}

TEST_F(TablesCli, TheEnvironmentSetsTheThreads) {
  write_ratings("ratings.csv", 800);
  const std::string arguments =
      " train ratings.csv --model light --miner random --epochs 1 --out run";
  ASSERT_EQ(shell("OMP_NUM_THREADS=3 " CURNM_BINARY + arguments).exit_code, 0);
  EXPECT_EQ(options()["threads"], 3);
  ASSERT_EQ(
      shell("rm -r run; OMP_NUM_THREADS=3 " CURNM_BINARY + arguments + " --threads 1").exit_code,
      0);
  EXPECT_EQ(options()["threads"], 1);
}

TEST_F(TablesCli, FetchTakesAFileThatIsThere) {
  write("uci.csv", "src,dst,time\n1,2,3\n");
  const CommandResult wrong = curnm("fetch uci --from uci.csv --cache cache --out net");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(contains(wrong.err, "uci.csv is not the network uci: it has 1 events")) << wrong.err;
  EXPECT_EQ(read("uci.csv"), "src,dst,time\n1,2,3\n") << "it is never removed";
  EXPECT_EQ(curnm("fetch uci --from uci.csv --url http://x --out net").exit_code, 2);
  EXPECT_EQ(curnm("fetch uci --from missing.csv --cache cache --out net").exit_code, 1);
}

}  // namespace
}  // namespace curnm
