#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "support/cli_fixture.h"
#include "support/json_schema.h"

// What other programs read is as docs/schemas says.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::CommandResult;
using testing::contains;
using testing::JsonSchema;

const fs::path kSchemas = fs::path(CURNM_SOURCE_DIR) / "docs/schemas";

json schema_of(const std::string& name) {
  std::ifstream file(kSchemas / (name + ".schema.json"));
  return json::parse(file);
}

class Schemas : public testing::Cli {
 protected:
  void expect(const std::string& name, const std::string& text) {
    const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(document.is_discarded()) << name << ": " << text;
    EXPECT_EQ(JsonSchema(schema_of(name)).error(document), "") << name;
    checked_.insert(name + ".schema.json");
  }
  void expect_output(const std::string& name, const std::string& command) {
    const CommandResult result = curnm(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    expect(name, result.out);
  }

  std::set<std::string> checked_;
};

TEST_F(Schemas, FitWhatIsWritten) {
  const std::string options = " --width 8 --time-width 4 --batch 100 --epochs 2 ";
  ASSERT_EQ(curnm("generate --nodes 30 --events 600 --communities 3 --out net").exit_code, 0);
  expect_output(
      "paused",
      "train net --model jodie --miner random --decoder additive --until-epoch 1 --json --out run" +
          options);
  expect_output("result", "train --resume run --json");
  expect("result", read("run/result.json"));
  expect("options", read("run/options.json"));
  const std::string metrics = read("run/metrics.jsonl");
  expect("epoch", metrics.substr(0, metrics.find('\n')));
  ASSERT_EQ(curnm("train net --model jodie --miner mixture --out mixture" + options).exit_code, 0);
  expect("result", read("mixture/result.json"));
  expect_output("eval", "eval run --json");
  expect_output("backtest", "eval run --periods 3 --json");
  expect_output("predict", "predict run --src 1 --time 1e9 --topk 2 --json");
  const std::string lines = curnm("predict run --sources all --time 1e9 --format jsonl").out;
  expect("predict", "[" + lines.substr(0, lines.find('\n')) + "]");
  write("pairs.csv", "src,dst,time\n1,nobody,5\n");
  expect_output("predict", "predict run --pairs pairs.csv --json");
  expect_output("predict", "predict run --src 1 --time 1e9 --explain --json");
  expect_output("predict", "predict mixture --pairs pairs.csv --explain --json");
  const std::string why = curnm("predict mixture --src 1 --time 1e9 --explain --format jsonl").out;
  expect("predict", "[" + why.substr(0, why.find('\n')) + "]");
  EXPECT_TRUE(contains(why, "\"why\":{\"words\":\"")) << why;
  expect_output("stats", "stats net --json");
  expect_output("list", "list --json");
  expect_output("doctor", "doctor --json");
  expect_output("tune",
                "tune ./net --model jodie --miner random --vary batch=50,100 --set width=8 "
                "--set time-width=4 --epochs 1 --strategy grid --workers 1 --json");
  expect_output("results", "results --format json");
  std::set<std::string> all;
  for (const auto& entry : fs::directory_iterator(kSchemas)) {
    all.insert(entry.path().filename().string());
  }
  EXPECT_EQ(checked_, all) << "a schema that nothing is checked against";

  const json result = json::parse(read("run/result.json"));
  EXPECT_EQ(result["model"], "jodie");
  EXPECT_EQ(result["miner"], "random");
  EXPECT_EQ(result["decoder"], "additive");
  EXPECT_EQ(result["data"], json::parse(curnm("stats net --json").out)["name"]);
  EXPECT_EQ(result["test"]["mrr"]["candidates"], result["best_ranking"]["candidates"]);
  const json stored = json::parse(curnm("results --format json").out);
  EXPECT_TRUE(stored[0]["flags"]["batch"].is_number()) << stored[0]["flags"];
}

TEST(JsonSchemaTest, FindsWhatDoesNotFit) {
  json result = {{"epoch", 0},           {"losses", {{"a", nullptr}}},
                 {"validation_ap", 0.5}, {"validation", json::object()},
                 {"best", true},         {"mining", {{"pi", 1}}},
                 {"seconds", 1.5},       {"stages", json::object()}};
  const JsonSchema schema(schema_of("epoch"));
  EXPECT_EQ(schema.error(result), "");
  result["epoch"] = "0";
  EXPECT_EQ(schema.error(result), "/epoch: \"0\" is not of type \"integer\"");
  result["epoch"] = -1;
  EXPECT_EQ(schema.error(result), "/epoch: -1 is below");
  result["epoch"] = 0;
  result["mining"]["pi"] = "1";
  EXPECT_TRUE(contains(schema.error(result), "/mining/pi")) << schema.error(result);
  result.erase("mining");
  EXPECT_EQ(schema.error(result), ": \"mining\" is missing");
  EXPECT_TRUE(contains(JsonSchema(json::parse(R"({"oneOf": 1})")).error(1),
                       "does not know the keyword oneOf"));
}

TEST_F(Schemas, ExitCodesAreTheSameForEveryCommand) {
  fs::create_directory(folder_ / "folder");
  for (const char* command :
       {"eval folder", "predict folder --src 1 --time 1", "export folder --out x",
        "compare folder folder", "report folder", "train --resume folder"}) {
    const CommandResult result = curnm(command);
    EXPECT_EQ(result.exit_code, 3) << command << ": " << result.err;
    EXPECT_TRUE(contains(result.err, "folder is not a run")) << result.err;
  }
  const std::string rest = "models: [jodie]\nminers: [random]\nseeds: [0]\n";
  write("comma.yml", ",");
  write("broken.yml", "networks: [x\n");
  write("kind.yml", "networks: {a: b}\n" + rest);
  write("key.yml", "network: [a]\n" + rest);
  write("escape.yml", "title: \"\\e[31m\"\nnetworks: [synthetic:drift]\n" + rest);
  write("many.yml", "networks: [synthetic:drift]\n" + rest + "variants: {a: {epochs: many}}\n");
  for (const char* name : {"comma", "broken", "kind", "key", "escape", "many"}) {
    const CommandResult result = curnm(fmt::format("experiment {}.yml --plan", name));
    EXPECT_EQ(result.exit_code, 2) << name << ": " << result.err;
    EXPECT_TRUE(contains(result.err, fmt::format("curnm: {}.yml", name))) << result.err;
    EXPECT_FALSE(contains(result.err, "\x1b"));
  }
  write("unknown.yml", "networks: [nowhere]\n" + rest);
  const CommandResult plan = curnm("experiment unknown.yml --plan");
  EXPECT_EQ(plan.exit_code, 1) << plan.out;
  EXPECT_TRUE(contains(plan.err, "the network nowhere cannot be had")) << plan.err;
}

}  // namespace
}  // namespace curnm
