#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/cli_fixture.h"

// What happens to a model after its training: tests by periods, more epochs, warm starts.

namespace curnm {
namespace {

using nlohmann::json;
using testing::CommandResult;
using testing::contains;

class AfterTraining : public testing::Cli {
 protected:
  /// Events among a few nodes, every other one repeated; names are letters. From 600 on, one node
  /// is new.
  static std::string events(int count, const std::string& feature = "") {
    std::string text = "src,dst,time" + (feature.empty() ? "" : "," + feature) + "\n";
    for (int i = 0; i < count; ++i) {
      const int u = (i * 7 + i / 5) % 11;
      const int v = i >= 600 && i % 9 == 0 ? 11 : (u + 1 + i % 3) % 11;
      text += fmt::format("n{},n{},{}{}\n", u, v, 1000 + 60 * i, feature.empty() ? "" : ",1.5");
    }
    return text;
  }
  CommandResult train(const std::string& arguments) { return curnm("train " + arguments); }

  const std::string options_ =
      " --miner mixture --walk off --batch 50 --width 8 --threads 2 --hidden-share 0 ";
};

TEST_F(AfterTraining, OnePeriodIsTheTestAndPeriodsDoNotSeeLaterOnes) {
  write("old.csv", events(600));
  write("grown.csv", events(800));
  ASSERT_EQ(train("old.csv --epochs 1 --out run" + options_).exit_code, 0);
  const json test = json::parse(curnm("eval run --json").out);
  const json one = json::parse(curnm("eval run --periods 1 --json").out);
  EXPECT_EQ(one["periods"][0]["test"], test["test"]);

  // Cut where the old network ends, which the grown one does not change.
  const std::string span = " --from 31600 --to 37000 --periods 1 --json";
  const json before = json::parse(curnm("eval run" + span).out);
  const json after = json::parse(curnm("eval run --data grown.csv" + span).out);
  EXPECT_EQ(before["periods"], after["periods"]);

  const json grown = json::parse(curnm("eval run --data grown.csv --json").out);
  EXPECT_EQ(grown["periods"].size(), 8U);
  EXPECT_EQ(grown["all"]["events"], 290);
  EXPECT_GT(grown["periods"][7]["new_node_events"], 0);
  ASSERT_EQ(curnm("export run --out m").exit_code, 0);
  EXPECT_EQ(json::parse(curnm("eval m --data grown.csv --json").out)["periods"], grown["periods"]);
}

TEST_F(AfterTraining, ASlidingMemoryIsTheSameInTestsAndAnswers) {
  write("old.csv", events(600));
  ASSERT_EQ(train("old.csv --epochs 1 --out run" + options_).exit_code, 0);
  const json all = json::parse(curnm("eval run --periods 1 --json").out);
  const json kept = json::parse(curnm("eval run --keep 30 --periods 1 --json").out);
  EXPECT_EQ(all["keep"], nullptr);
  EXPECT_EQ(kept["keep"], "30");
  EXPECT_NE(kept["periods"], all["periods"]);
  const json everything = json::parse(curnm("eval run --keep 600 --periods 1 --json").out);
  EXPECT_EQ(everything["periods"], all["periods"]);

  const std::string question = "predict run --src n1 --time 30000 --json";
  EXPECT_NE(curnm(question + " --keep 20").out, curnm(question).out);
  EXPECT_EQ(curnm(question + " --keep 600").out, curnm(question).out);
  // Times are a minute apart: an age of ten minutes keeps fewer than a day.
  EXPECT_NE(curnm(question + " --keep 10m").out, curnm(question).out);
  EXPECT_EQ(curnm(question + " --keep 1d").out, curnm(question).out);
  const CommandResult wrong = curnm(question + " --keep 10y");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(contains(wrong.err, "30d")) << wrong.err;
}

TEST_F(AfterTraining, SaysWhatATestByPeriodsCannotDo) {
  write("old.csv", events(600));
  ASSERT_EQ(train("old.csv --epochs 1 --out run" + options_).exit_code, 0);
  const auto refuses = [&](const std::string& flags, int code, const std::string& text) {
    const CommandResult result = curnm("eval run " + flags);
    EXPECT_EQ(result.exit_code, code) << flags << ": " << result.err;
    EXPECT_TRUE(contains(result.err, text)) << flags << ": " << result.err;
  };
  refuses("--periods month", 2, "expected day, week");
  refuses("--periods 0", 2, "expected day, week");
  refuses("--from 99999999", 1, "there is no event");
  refuses("--periods 2 --protocol random", 2, "no effect on a test by periods");
  refuses("--periods 2 --split roll", 2, "no effect on the test of a trained run");
  EXPECT_TRUE(contains(curnm("eval run --from 1000 --periods 2").err, "flatter it"));
  const CommandResult page = curnm("eval run --periods 3 --report page.html");
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_TRUE(contains(read("page.html"), "Does it age?"));
}

TEST_F(AfterTraining, AnExtendedRunEqualsOneThatBeganWithAllEpochs) {
  write("old.csv", events(600));
  ASSERT_EQ(train("old.csv --epochs 4 --out whole" + options_).exit_code, 0);
  ASSERT_EQ(train("old.csv --epochs 2 --out run" + options_).exit_code, 0);
  const CommandResult fewer = train("--resume run --epochs 1");
  EXPECT_EQ(fewer.exit_code, 2);
  EXPECT_TRUE(contains(fewer.err, "can only be given more")) << fewer.err;
  const CommandResult more = train("--resume run --epochs 4");
  ASSERT_EQ(more.exit_code, 0) << more.err;
  const json whole = json::parse(read("whole/result.json"));
  const json extended = json::parse(read("run/result.json"));
  for (const char* key : {"test", "test_new", "epochs", "best_epoch"}) {
    EXPECT_EQ(extended[key], whole[key]) << key;
  }
  EXPECT_EQ(train("--resume run").exit_code, 0);
}

TEST_F(AfterTraining, AWarmStartGoesOnWithWhatCameSince) {
  write("old.csv", events(600));
  write("grown.csv", events(800));
  write("wide.csv", events(800, "weight"));
  ASSERT_EQ(train("old.csv --epochs 3 --out run" + options_).exit_code, 0);
  const std::string warm = " --miner mixture --batch 50 --hidden-share 0 --epochs 2 --threads 2 ";
  const CommandResult made = train("--init run --data grown.csv --out warm" + warm);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(json::parse(read("warm/options.json"))["nodes"], 12);
  EXPECT_EQ(curnm("predict warm --src n11 --time 1e6 --topk 2").exit_code, 0);

  // Interrupted and resumed, it reaches the same: the first model is kept in its folder.
  ASSERT_EQ(train("--init run --data grown.csv --until-epoch 1 --out part" + warm).exit_code, 0);
  std::filesystem::remove_all(folder_ / "run");
  ASSERT_EQ(train("--resume part").exit_code, 0);
  EXPECT_EQ(json::parse(read("part/result.json"))["test"],
            json::parse(read("warm/result.json"))["test"]);

  const auto refuses = [&](const std::string& flags, int code, const std::string& text) {
    const CommandResult result = train("--init warm --out other " + flags);
    EXPECT_EQ(result.exit_code, code) << flags << ": " << result.err;
    EXPECT_TRUE(contains(result.err, text)) << flags << ": " << result.err;
  };
  refuses("wide.csv --miner mixture", 3, "1 edge features, and the model to begin from");
  refuses("old.csv --miner mixture", 3, "does not begin with the network");
  refuses("grown.csv --miner mixture --width 9", 2, "no effect on a warm start");
  refuses("grown.csv --model tgn", 2, "the model to begin from has model light");
  refuses("grown.csv --miner random", 2, "has 4 output(s), and this miner teaches 1");
}

}  // namespace
}  // namespace curnm
