#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "curnm/base/file_lock.h"
#include "support/cli_fixture.h"

// Training, testing and predicting as a person does it.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::CommandResult;
using testing::contains;

class TrainCli : public testing::Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    ASSERT_EQ(curnm("generate --nodes 120 --events 2500 --out net").exit_code, 0);
  }
  static std::string train(const std::string& out, int epochs = 3) {
    return "train net --model jodie --walk off --width 16 --time-width 8 --batch 50 "
           "--checkpoint-seconds 0 --learning-rate 1e-3 --epochs " +
           std::to_string(epochs) + " --out " + out;
  }
  /// result.json without the one figure that is not reproducible.
  json result(const std::string& run) const {
    json parsed = json::parse(read(run + "/result.json"));
    EXPECT_GT(parsed["seconds_per_epoch"].get<double>(), 0);
    parsed.erase("seconds_per_epoch");
    return parsed;
  }
};

TEST_F(TrainCli, ARunLeavesOptionsMetricsResultAndCheckpoint) {
  const CommandResult trained = curnm(train("run"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(contains(trained.out, "best without learning")) << trained.out;
  EXPECT_TRUE(contains(trained.err, "epoch   0  validation AP")) << trained.err;

  const json options = json::parse(read("run/options.json"));
  EXPECT_EQ(options["train"]["model"], "jodie");
  EXPECT_EQ(options["model"]["width"], 16);
  EXPECT_EQ(options["model"]["dropout"], 0.1) << "resolved";
  EXPECT_FALSE(options["model"].contains("heads")) << "jodie has none";
  EXPECT_EQ(options["data_digest"], json::parse(curnm("stats net --json").out)["digest"]);
  EXPECT_GE(options["threads"], 1);

  const std::string metrics = read("run/metrics.jsonl");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 3);
  const json first = json::parse(metrics.substr(0, metrics.find('\n')));
  EXPECT_TRUE(first["losses"].contains("positive"));
  EXPECT_TRUE(first["stages"].contains("backward"));

  const json found = result("run");
  for (const char* protocol : {"random", "historical", "inductive", "trans", "source_historical"}) {
    for (const char* figure : {"ap", "ap_global", "auc", "auc_global"}) {
      EXPECT_GT(found["test"][protocol][figure].get<double>(), 0) << protocol << " " << figure;
      if (!found["test_new"].contains(protocol)) continue;
      EXPECT_GT(found["test_new"][protocol][figure].get<double>(), 0) << protocol << " " << figure;
    }
  }
  EXPECT_EQ(found["not_measured"]["test"], json::array());
  EXPECT_EQ(found["not_measured"]["test_new"], json({"historical", "inductive"}))
      << "there is one batch of such events: none of their pairs met before it";
  EXPECT_EQ(found["epochs"], 3);
  EXPECT_TRUE(found.contains("best_epoch"));
}

TEST_F(TrainCli, OptionsFromAFile) {
  write("run.yml",
        "data: net\nmodel: jodie\nwidth: 16\ntime-width: 8\nbatch: 50\n"
        "walk: off\nlearning-rate: 1e-3\nepochs: 1\nout: file\n");
  const CommandResult from_file = curnm("train --config run.yml");
  ASSERT_EQ(from_file.exit_code, 0) << from_file.err;
  ASSERT_EQ(curnm(train("flags", 1)).exit_code, 0);
  EXPECT_EQ(result("file"), result("flags"));

  ASSERT_EQ(curnm("train --config run.yml --epochs 2 --out both").exit_code, 0);
  EXPECT_EQ(json::parse(read("both/result.json"))["epochs"], 2) << "the command line wins";

  write("run.yml", "data: net\nepoch: 1\n");
  const CommandResult unknown = curnm("train --config run.yml");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(contains(unknown.err, "run.yml:2:1: unknown key 'epoch'; did you mean 'epochs'?"))
      << unknown.err;
  EXPECT_EQ(curnm("train --config nothing.yml").exit_code, 1);
  EXPECT_EQ(curnm("train --resume both --config run.yml").exit_code, 2);
}

TEST_F(TrainCli, FiguresForTensorBoard) {
  ASSERT_EQ(curnm(train("run", 2) + " --until-epoch 1 --log-dir board").exit_code, 0);
  ASSERT_EQ(curnm("train --resume run --log-dir board").exit_code, 0);
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder_ / "board")) {
    files.push_back(read("board/" + entry.path().filename().string()));
  }
  ASSERT_EQ(files.size(), 2U) << "one for each process";
  const auto has = [&](const char* tag) {
    return std::ranges::count_if(files, [&](const auto& file) { return contains(file, tag); });
  };
  EXPECT_EQ(has("validation/trans"), 2);
  EXPECT_EQ(has("test/trans"), 1) << "the test comes once";
}

TEST_F(TrainCli, EvaluationRepeatsTheTestToTheBit) {
  ASSERT_EQ(curnm(train("run")).exit_code, 0);
  const json once = json::parse(curnm("eval run --json").out);
  const json twice = json::parse(curnm("eval run --json --dump-scores scores.csv").out);
  EXPECT_EQ(once, twice);
  const json tested = result("run");
  EXPECT_EQ(once["test"], tested["test"]);
  EXPECT_EQ(once["test_new"], tested["test_new"]);

  const std::string scores = read("scores.csv");
  EXPECT_TRUE(scores.starts_with("set,protocol,label,src,dst,time,score\n"));
  const auto rows = static_cast<std::int64_t>(std::count(scores.begin(), scores.end(), '\n')) - 1;
  EXPECT_EQ(rows, 2 * 5 * once["test"]["events"].get<std::int64_t>() +
                      2 * 3 * once["test_new"]["events"].get<std::int64_t>())
      << "of new nodes, historical and inductive are not measured";
  const json ranked = json::parse(curnm("eval run --json --rank-among 20").out);
  EXPECT_GT(ranked["test"]["mrr"]["mrr"].get<double>(), 1.0 / 21);
}

TEST_F(TrainCli, RanksAmongTheNegativesOfAFile) {
  const CommandResult trained = curnm(train("run", 2) + " --select-on mrr --rank-among 20");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(contains(trained.err, "epoch   0  validation MRR")) << trained.err;
  EXPECT_TRUE(contains(read("run/metrics.jsonl"), "\"validation_mrr\":"));

  const CommandResult drawn = curnm("negatives net --out n.csv --per-event 6 --seed 3 --threads 2");
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_TRUE(contains(drawn.out, "test events in n.csv")) << drawn.out;
  const std::string file = read("n.csv");
  ASSERT_EQ(curnm("negatives net --out one.csv --per-event 6 --seed 3 --threads 1").exit_code, 0);
  EXPECT_EQ(read("one.csv"), file);

  const CommandResult table = curnm("eval run --negatives n.csv");
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "MRR   Hits@10\nrun ")) << table.out;
  EXPECT_TRUE(contains(table.out, "\nages ")) << table.out;
  const json ranked = json::parse(curnm("eval run --negatives n.csv --json").out);
  EXPECT_EQ(ranked["negatives"]["part"], "test");
  EXPECT_EQ(ranked["negatives"]["seed"], 3);
  EXPECT_EQ(ranked["run"]["candidates"], 6);
  EXPECT_GT(ranked["run"]["mrr"].get<double>(), 1.0 / 7);
  EXPECT_EQ(ranked["run"]["hits10"], 1) << "among seven";
  const json rules = json::parse(curnm("eval net --negatives n.csv --json").out);
  EXPECT_EQ(rules["rules"], ranked["rules"]);
  EXPECT_FALSE(rules.contains("run"));
  EXPECT_GT(rules["rules"].size(), 5U);

  ASSERT_EQ(curnm("negatives net --out v.csv --part validation").exit_code, 0);
  const json validation = json::parse(curnm("eval run --negatives v.csv --json").out);
  EXPECT_EQ(validation["negatives"]["part"], "validation");
  EXPECT_EQ(validation["run"]["candidates"], 20);
}

TEST_F(TrainCli, NegativesThatDoNotFitAreRefused) {
  const auto expect = [&](const std::string& arguments, int code, const std::string& message) {
    const CommandResult result = curnm(arguments);
    EXPECT_EQ(result.exit_code, code) << arguments << "\n" << result.err;
    EXPECT_TRUE(contains(result.err, message)) << arguments << "\n" << result.err;
  };
  ASSERT_EQ(curnm("negatives net --out n.csv --per-event 2").exit_code, 0);
  const std::string file = read("n.csv");
  ASSERT_EQ(curnm("generate --nodes 120 --events 2500 --seed 9 --out other").exit_code, 0);
  expect("eval other --negatives n.csv", 1, "n.csv is for other data");
  const json stats = json::parse(curnm("stats net --json").out);
  const double first = stats["first_time"];
  const double span = stats["last_time"].get<double>() - first;
  expect("eval net --negatives n.csv --split at --validation-from " +
             std::to_string(first + 0.4 * span) + " --test-from " +
             std::to_string(first + 0.6 * span),
         1, "other options of the split");
  expect("eval net --negatives none.csv", 1, "none.csv");
  expect("eval net --negatives net/meta.json", 1, "has no negatives");
  write("cut.csv", file.substr(0, file.size() / 2));
  expect("eval net --negatives cut.csv", 1, "cut.csv");
  write("nobody.csv", file.substr(0, file.rfind(',')) + ",nobody\n");
  expect("eval net --negatives nobody.csv", 1, "node 'nobody' is not in the network");
  expect("eval net --negatives n.csv --model ages", 2, "it lists all rules");
  expect("eval net --negatives n.csv --protocol trans", 2, "--protocol has no effect");
  expect("eval net --negatives n.csv --rank-among 5", 2, "--rank-among has no effect");
  expect("eval net --negatives n.csv --data net", 2, "--data has no effect");
  expect("negatives net", 2, "--out");
  expect("negatives net --out x --part train", 2, "validation");
  expect("negatives net --out x --per-event 0", 2, "--per-event 0 is out of range");
  expect("negatives net --out x --test-from 5", 2, "--test-from has no effect");
  expect("negatives net --out none/x", 1, "none");
  expect("negatives nowhere --out x", 1, "nowhere");
  expect("train net --select-on mrr --rank-among 0 --out r", 2, "--rank-among 0 switches it off");
}

// Killed at any instant, at any number of attempts: the result is that of a run that was left
// alone.
TEST_F(TrainCli, KilledAndResumedGivesTheSameResult) {
  ASSERT_EQ(curnm(train("alone", 12)).exit_code, 0);
  int kills = 0;
  CommandResult last{.exit_code = 1};
  // Longer and longer, so that it ends on a busy machine too.
  for (double seconds = 0.25; last.exit_code != 0 && seconds < 60; seconds *= 1.2) {
    const bool started = fs::exists(folder_ / "killed");
    last = shell("timeout -s KILL " + std::to_string(seconds) + " " CURNM_BINARY " " +
                 (started ? "train --resume killed" : train("killed", 12)));
    kills += last.exit_code == 0 ? 0 : 1;
  }
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_GT(kills, 0) << "the run was too short to be killed";
  EXPECT_EQ(result("killed"), result("alone"));
}

TEST_F(TrainCli, TheFirstEpochIsSavedHoweverSeldomOthersAre) {
  const CommandResult killed =
      shell(CURNM_BINARY
            " train net --model jodie --walk off --width 16 --batch 50 --epochs 400 "
            "--checkpoint-seconds 1e9 --out run & pid=$!; for i in $(seq 500); do [ -e "
            "run/checkpoint ] && break; "
            "sleep 0.02; done; kill -KILL $pid; wait $pid");
  EXPECT_EQ(killed.exit_code, 128 + 9) << killed.err;
  EXPECT_FALSE(fs::exists(folder_ / "run/result.json"));
  EXPECT_EQ(curnm("eval run").exit_code, 0);
}

TEST_F(TrainCli, AnInterruptSavesAndSaysHowToGoOn) {
  ASSERT_EQ(curnm(train("alone", 40)).exit_code, 0);
  for (const auto& [signal, code] :
       {std::pair{"HUP", 129}, std::pair{"INT", 130}, std::pair{"TERM", 143}}) {
    const std::string run = std::string("run") + signal;
    // As soon as the run exists: its 40 epochs take much longer than what the signal needs.
    const CommandResult stopped =
        shell(CURNM_BINARY " " + train(run, 40) + " & pid=$!; for i in $(seq 500); do [ -e " + run +
              "/options.json ] && break; sleep 0.02; done; kill -" + signal + " $pid; wait $pid");
    EXPECT_EQ(stopped.exit_code, code) << stopped.err;
    EXPECT_TRUE(contains(stopped.err, "curnm train --resume " + run)) << stopped.err;
    ASSERT_EQ(curnm("train --resume " + run).exit_code, 0);
    EXPECT_EQ(result(run), result("alone"));
  }
}

// A run is tested as it was trained, unless the command line says otherwise.
// The test ranks among all destinations, which takes much longer than what the signal needs.
TEST_F(TrainCli, ASignalStopsTheTestToo) {
  ASSERT_EQ(curnm("generate --nodes 2000 --events 20000 --out many").exit_code, 0);
  const CommandResult stopped = shell(
      CURNM_BINARY
      " train many --walk off --epochs 1 --rank-among 100000 --threads 1 --out run & pid=$!; for i "
      "in $(seq 3000); do grep -qs validation run/metrics.jsonl && [ -e run/checkpoint ] && break; "
      "sleep 0.02; done; sleep 0.3; kill -TERM $pid; wait $pid");
  EXPECT_EQ(stopped.exit_code, 143) << stopped.err;
  EXPECT_TRUE(contains(stopped.err, "curnm train --resume run")) << stopped.err;
  EXPECT_FALSE(fs::exists(folder_ / "run/result.json"));
  ASSERT_EQ(curnm("train --resume run").exit_code, 0);
  EXPECT_EQ(result("run")["epochs"], 1);
}

TEST_F(TrainCli, EvaluationTakesTheOptionsOfTheRun) {
  ASSERT_EQ(curnm(train("run", 1) + " --negative-seed 7 --evaluation-batch 100").exit_code, 0);
  const json as_trained = json::parse(curnm("eval run --json").out);
  EXPECT_EQ(as_trained["test"], result("run")["test"]);
  const json one = json::parse(curnm("eval run --json --protocol trans").out);
  EXPECT_EQ(one["test"]["trans"], as_trained["test"]["trans"]);
  EXPECT_FALSE(one["test"].contains("random"));
  EXPECT_FALSE(one["best_baseline"].contains("random"));
  const json other = json::parse(curnm("eval run --json --negative-seed 8").out);
  EXPECT_NE(other["test"], as_trained["test"]);
  const json rule = json::parse(curnm("eval net --model recency-dst --json").out);
  EXPECT_GT(rule["test"]["random"]["ap"].get<double>(), 0.3);
}

TEST_F(TrainCli, AnExistingRunIsNotOverwritten) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  const std::string before = read("run/result.json");
  const CommandResult again = curnm(train("run", 1));
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(contains(again.err, "exists already")) << again.err;
  EXPECT_EQ(read("run/result.json"), before);
}

TEST_F(TrainCli, ADiskThatFillsUpKeepsTheLastCheckpoint) {
  ASSERT_EQ(curnm(train("run", 2)).exit_code, 0);
  const std::string before = read("run/checkpoint");
  fs::remove(folder_ / "run/result.json");
  // Blocks of 1 KiB: less than a checkpoint needs.
  const CommandResult full = shell("ulimit -f 64 && " CURNM_BINARY " train --resume run");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_TRUE(contains(full.err, "cannot write")) << full.err;
  EXPECT_EQ(read("run/checkpoint"), before);
  EXPECT_EQ(curnm("train --resume run").exit_code, 0);
}

TEST_F(TrainCli, PredictRanksDestinationsAndScoresPairs) {
  ASSERT_EQ(curnm(train("run")).exit_code, 0);
  const CommandResult top = curnm("predict run --src 3 --time 2592000 --topk 4");
  ASSERT_EQ(top.exit_code, 0) << top.err;
  EXPECT_TRUE(top.out.starts_with("src,dst,time,probability\n3,")) << top.out;
  EXPECT_EQ(std::count(top.out.begin(), top.out.end(), '\n'), 5);

  const json ranked = json::parse(curnm("predict run --src 3 --time 2592000 --topk 4 --json").out);
  ASSERT_EQ(ranked.size(), 4U);
  EXPECT_GE(ranked[0]["probability"], ranked[3]["probability"]);
  // The same questions as pairs, in another order and amid others, get the same answers.
  write("pairs.csv", "src,dst,time\n" + ranked[2]["src"].get<std::string>() + "," +
                         ranked[2]["dst"].get<std::string>() + ",2592000\n3,100,2000000\n");
  const json pairs =
      json::parse(curnm("predict run --pairs pairs.csv --question destination --json").out);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0]["logit"], ranked[2]["logit"]);
}

TEST_F(TrainCli, PredictSaysWhy) {
  ASSERT_EQ(curnm("train net --walk off --width 16 --epochs 1 --out run").exit_code, 0);
  const std::string columns =
      "src,dst,time,probability,why,typical_logit,moved_ages,moved_counts,moved_direction,"
      "moved_since,moved_recent,moved_pace,moved_next,moved_source,moved_destination\n";
  const std::string at = " --time 2592000 --topk 3 --explain";
  const CommandResult one = curnm("predict run --src 3" + at);
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.err, "");
  EXPECT_TRUE(one.out.starts_with(columns)) << one.out;
  EXPECT_TRUE(contains(one.out, "3 was last active")) << one.out;
  // The same in one pass over many, in the other formats, and as pairs.
  write("people", "nobody\n3\n5\n");
  const CommandResult many = curnm("predict run --sources people" + at);
  EXPECT_TRUE(many.out.starts_with(columns + "nobody,,2592000," + std::string(11, ',') + "\n3,"))
      << many.out;
  EXPECT_TRUE(contains(many.out, one.out.substr(columns.size()))) << many.out;
  const json ranked = json::parse(curnm("predict run --src 3 --json" + at).out);
  const json plain = json::parse(curnm("predict run --src 3 --time 2592000 --topk 3 --json").out);
  write("pairs.csv",
        "src,dst,time\n3," + ranked[1]["dst"].get<std::string>() + ",2592000\n3,x,1\n");
  const json pairs = json::parse(
      curnm("predict run --pairs pairs.csv --question destination --explain --json").out);
  EXPECT_EQ(pairs[0]["why"], ranked[1]["why"]);
  EXPECT_FALSE(pairs[1].contains("why")) << "an unknown node has no score to explain";
  for (std::size_t i = 0; i < ranked.size(); ++i) EXPECT_EQ(ranked[i]["logit"], plain[i]["logit"]);
  const CommandResult refused = curnm("predict run --sources all --format columns --out x" + at);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.err, "--explain has no effect on --format columns")) << refused.err;

  ASSERT_EQ(curnm("train net --model jodie --decoder additive --miner random --width 16 --epochs 1 "
                  "--out additive")
                .exit_code,
            0);
  const CommandResult embeddings = curnm("predict additive --src 3" + at);
  EXPECT_TRUE(contains(embeddings.out, "typical_logit,moved_source,moved_destination\n3,"))
      << embeddings.out;
  EXPECT_TRUE(
      contains(embeddings.err, "of what the decoder additive sees, only the embeddings of the two"))
      << embeddings.err;
}

TEST_F(TrainCli, DrawnNeighborsDoNotDependOnTheCompanyOfAQuestion) {
  ASSERT_EQ(
      curnm("train net --model dysat --walk off --width 16 --neighbors 2 --epochs 1 --out run")
          .exit_code,
      0);
  const json ranked = json::parse(curnm("predict run --src 3 --time 2592000 --topk 9 --json").out);
  const std::string pair = "3," + ranked[5]["dst"].get<std::string>() + ",2592000\n";
  for (const std::string company : {"", "7,100,2592000\n9,101,2000000\n"}) {
    write("pairs.csv", "src,dst,time\n" + company + pair);
    const json pairs =
        json::parse(curnm("predict run --pairs pairs.csv --question destination --json").out);
    EXPECT_EQ(pairs.back()["logit"], ranked[5]["logit"]);
  }
}

TEST_F(TrainCli, AResumedRunHasTheThreadsItBeganWith) {
  ASSERT_EQ(curnm(train("run", 2) + " --threads 3 --until-epoch 1").exit_code, 0);
  ASSERT_EQ(curnm("train --resume run").exit_code, 0);
  EXPECT_EQ(result("run")["environment"]["threads"], 3);
}

TEST_F(TrainCli, ARunDoesNotGoOnWithOtherData) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  fs::remove(folder_ / "run/checkpoint");
  fs::remove_all(folder_ / "net");
  ASSERT_EQ(curnm("generate --nodes 120 --events 2500 --seed 9 --out net").exit_code, 0);
  const CommandResult resumed = curnm("train --resume run");
  EXPECT_EQ(resumed.exit_code, 3);
  EXPECT_TRUE(contains(resumed.err, "net is not the network that this run was trained on"))
      << resumed.err;
}

TEST_F(TrainCli, DataMayMove) {
  ASSERT_EQ(curnm(train("run", 2) + " --until-epoch 1").exit_code, 0);
  fs::rename(folder_ / "net", folder_ / "moved");
  const CommandResult gone = curnm("train --resume run");
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_TRUE(contains(gone.err, "--data says where")) << gone.err;
  EXPECT_EQ(curnm("train --resume run --data moved").exit_code, 0);
  EXPECT_EQ(json::parse(curnm("eval run --data moved --json").out)["test"], result("run")["test"]);
  EXPECT_EQ(curnm("predict run --data moved --src 3 --time 2592000 --topk 1").exit_code, 0);
  EXPECT_EQ(curnm("train moved --data moved --out other").exit_code, 2);
  EXPECT_EQ(curnm("eval moved --data moved --model recency-dst").exit_code, 2);
}

// Time goes on: what was trained predicts from what has happened since, new nodes included.
TEST_F(TrainCli, PredictionsFromANetworkThatHasGrown) {
  std::string table = "src,dst,time\n";
  for (int i = 0; i < 600; ++i)
    table += fmt::format("u{},v{},{}\n", i * 7 % 20, i * 11 % 31, 50 * i);
  write("old.csv", table);
  write("new.csv", table +
                       "u1,newcomer,30000\nstranger,v3,30010\nu1,newcomer,30020\n"
                       "v3,u1,30030\nv3,v3,30040\n");
  write("other.csv", "u1,v1,1\n" + table.substr(table.find('\n') + 1) + "u1,v2,40000\n");
  for (const std::string model : {"tgn", "jodie", "dysat"}) {
    ASSERT_EQ(
        curnm("train old.csv --walk off --width 16 --epochs 1 --model " + model + " --out " + model)
            .exit_code,
        0);
    // Nothing that happened later changes an answer.
    const std::string before = "predict " + model + " --src u1 --time 29000 --topk 40 --json";
    EXPECT_EQ(json::parse(curnm(before).out), json::parse(curnm(before + " --data new.csv").out));
    const CommandResult after =
        curnm("predict " + model + " --data new.csv --src stranger --time 30030 --topk 100");
    EXPECT_EQ(after.exit_code, 0) << after.err;
    EXPECT_TRUE(contains(after.out, "stranger,newcomer,30030,")) << after.out;
    EXPECT_NE(curnm("predict " + model + " --src u1 --time 30030 --json").out,
              curnm("predict " + model + " --src u1 --time 30030 --json --data new.csv").out)
        << "what has happened since is known";
    const CommandResult other =
        curnm("predict " + model + " --data other.csv --src u1 --time 50000");
    EXPECT_EQ(other.exit_code, 3);
    EXPECT_TRUE(contains(other.err, "new events may only come after")) << other.err;
    EXPECT_EQ(curnm("eval " + model + " --data other.csv").exit_code, 3) << "another network";
  }
}

TEST_F(TrainCli, SaysWhenADestinationIsAskedForItsDestinations) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  const json items = json::parse(curnm("predict run --src 3 --time 2592000 --topk 1 --json").out);
  const std::string item = items[0]["dst"];
  const CommandResult asked = curnm("predict run --src " + item + " --time 2592000 --topk 1");
  EXPECT_EQ(asked.exit_code, 0);
  EXPECT_TRUE(contains(asked.err, item + " is no source of this network")) << asked.err;
  EXPECT_EQ(curnm("predict run --src 3 --time 2592000 --topk 1").err, "");
}

TEST_F(TrainCli, NobodyIsProposedToHimselfWhereNobodyMeetsHimself) {
  std::string table = "src,dst,time\n";
  for (int i = 0; i < 400; ++i) table += fmt::format("{},{},{}\n", i % 20, i * 3 % 20, i);
  std::string without;
  for (std::size_t at = 0; at < table.size();) {
    const std::string line = table.substr(at, table.find('\n', at) + 1 - at);
    at += line.size();
    const std::size_t comma = line.find(',');
    if (line.substr(0, comma) != line.substr(comma + 1, line.find(',', comma + 1) - comma - 1)) {
      without += line;
    }
  }
  for (const auto& [name, text, expected] :
       {std::tuple{"loops", table, true}, std::tuple{"none", without, false}}) {
    write(std::string(name) + ".csv", text);
    ASSERT_EQ(
        curnm(fmt::format("train {0}.csv --model jodie --walk off --width 16 --epochs 1 --out {0}",
                          name))
            .exit_code,
        0);
    const CommandResult top = curnm(fmt::format("predict {} --src 7 --time 500 --topk 100", name));
    EXPECT_EQ(contains(top.out, "\n7,7,"), expected) << top.out;
  }
}

TEST_F(TrainCli, AnUnreadableTerminalStopsNothing) {
  const CommandResult trained = curnm(train("run", 1) + " 2>/dev/full");
  EXPECT_EQ(trained.exit_code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "run/result.json"));
  EXPECT_EQ(curnm("stats nowhere 2>/dev/full").exit_code, 1);
  EXPECT_EQ(curnm("stats nowhere 2>&-").exit_code, 1);
}

TEST_F(TrainCli, NamesOfNodesMayHaveCommas) {
  std::string table = "src;dst;time\n";
  for (int i = 0; i < 400; ++i) {
    table += fmt::format("\"u, {}\";v{};{}\n", i * 7 % 20, i * 11 % 30, i);
  }
  write("names.csv", table);
  ASSERT_EQ(curnm("train names.csv --model jodie --width 16 --epochs 1 --out run").exit_code, 0);
  ASSERT_EQ(curnm("eval run --dump-scores scores.csv").exit_code, 0);
  EXPECT_TRUE(contains(read("scores.csv"), ",\"u, ")) << read("scores.csv").substr(0, 200);
  const CommandResult top = curnm("predict run --src 'u, 7' --time 500 --topk 1");
  EXPECT_TRUE(contains(top.out, "\n\"u, 7\",v")) << top.out << top.err;
}

TEST_F(TrainCli, MistakesAreExplained) {
  const auto expect = [&](const std::string& arguments, int code, const std::string& part) {
    const CommandResult result = curnm(arguments);
    EXPECT_EQ(result.exit_code, code) << arguments;
    EXPECT_TRUE(contains(result.err, part)) << arguments << "\n" << result.err;
  };
  expect("train net --model tng --out r", 2, "did you mean 'tgn'?");
  expect("train net --miner randon --out r", 2, "did you mean 'random'?");
  expect("train net --batch 0 --out r", 2, "--batch 0 is out of range");
  expect("train net --model dysat --snapshot-length inf --out r", 2, "must be at least 0");
  expect("train net --model tgn --neighbors 0 --out r", 2, "--neighbors 0 is out of range");
  expect("train net --model tgn --heads 5 --out r", 2, "--heads 5 does not divide --width 172");
  expect("train net --model tgn --dropout -0.5 --out r", 2, "--dropout -0.5 is out of range");
  expect("train net --model tgn --ties loose --out r", 2, "stream, strict");
  expect("train net --device gpu --out r", 2, "--device gpu");
  expect("train net --split roll --out r", 2, "has no split of its own");
  expect("train net --collisions some --out r", 2, "allowed, source, nowhere");
  expect("train net --model jodie --heads 4 --out r", 2, "--heads has no effect on jodie");
  expect("train net --model tgn --snapshots 4 --out r", 2, "--snapshots has no effect on tgn");
  expect("train net --model dysat --ties strict --out r", 2, "--ties has no effect on dysat");
  expect("train net --miner random --ablate cache --out r", 2, "--ablate has no effect on random");
  expect("train net --miner curnm --negatives 2 --out r", 2, "--negatives has no effect on curnm");
  expect("train net --miner ens --delta-schedule constant --out r", 2, "has no effect on ens");
  expect("train net --decoder additive --miner curnm --pool 7 --out r", 2, "M must be even");
  expect("train net --decoder additive --miner curnm --gamma-hist 1.5 --out r", 2,
         "it must be between");
  expect("train net --decoder additive --miner curnm --alpha-epochs -1 --out r", 2,
         "it must be between");
  expect("train net --decoder additive --miner curnm --ablate all --out r", 2, "disentangle");
  expect("train net --miner random --preset ranking --out r", 2,
         "--preset has no effect on random");
  expect("train net --miner ens --corrupt half --out r", 2, "--corrupt has no effect on ens");
  expect("train net --miner curnm --preset rankin --out r", 2, "did you mean 'ranking'?");
  expect("train net --decoder additive --miner curnm --ablate random --delta-min 0.5 --out r", 2,
         "--delta-min has no effect on --ablate random");
  expect("train net --decoder additive --miner curnm --ablate cache --tau 0.3 --out r", 2,
         "--tau has no effect");
  expect("train net --decoder additive --miner curnm --ablate disentangle --lambda 1 --out r", 2,
         "has no effect");
  expect("train net --decoder additive --miner curnm --pi-strategy linear --plateau raise --out r",
         2, "--plateau has no effect on --pi-strategy linear");
  expect(
      "train net --decoder additive --miner curnm --pi-strategy linear --curriculum-metric "
      "training --out r",
      2, "--curriculum-metric has no effect on --pi-strategy linear");
  expect(
      "train net --decoder additive --miner curnm --ablate pi --curriculum-metric training --out r",
      2, "--curriculum-metric has no effect on --ablate pi");
  expect(
      "train net --decoder additive --miner curnm --alpha-max 0 --alpha-schedule decreasing --out "
      "r",
      2, "--alpha-schedule has no effect on --alpha-max 0");
  expect(
      "train net --decoder additive --miner curnm --alpha-schedule constant --alpha-epochs 7 --out "
      "r",
      2, "--alpha-epochs has no effect on --alpha-schedule constant");
  expect(
      "train net --decoder additive --miner curnm --beta-schedule constant --beta-epochs 7 --out r",
      2, "--beta-epochs has no effect on --beta-schedule constant");
  expect("train net --seed -1 --out r", 2, "--seed");
  expect("train net --seed 18446744073709551615 --out r", 2, "--seed");
  expect("train uci --out r", 1, "`curnm fetch uci`");
  expect("bench step --data net --path plain --compare plain", 2, "--compare has no effect");
  expect("bench epoch --data net --miners random --pi 0.5", 2, "--pi has no effect");
  expect("bench step --data net --steps 5000", 1, "no room to measure 5000");
  expect("bench step --data net --compare fast", 2, "only 'plain'");
  expect("bench epoch --data net --miners random,randon", 2, "did you mean 'random'?");
  expect("bench epoch --data net --miners curnm --pools 4,5", 2, "M must be even");
  expect("bench epoch --data net --model jodie --heads 4", 2, "--heads has no effect on jodie");
  expect("train --out r", 2, "either DATA or --resume");
  expect("train --resume nowhere", 1, "nowhere does not exist");
  expect("train --resume net", 3, "is not a run");
  expect("eval nowhere", 1, "nowhere does not exist");
  expect("eval net", 3, "--model tests a rule");
  expect("trian --help", 2, "did you mean 'train'?");
  expect("eval net --model recency-scr", 2, "did you mean 'recency-src'?");
  expect("predict net --src 1", 2, "either --src and --time");
  expect("predict net --pairs p.csv --topk 3", 2, "--topk has no effect on --pairs");
  expect("predict net --src 1 --sources all --time 1", 2, "either --src and --time");
  expect("predict net --src 1 --time 1 --strict", 2, "--strict has no effect on --src");
  expect("predict net --sources all --time 1 --among friends", 2, "among");
  expect("predict net --sources all --time 1 --format parquet", 2, "format");
  expect("predict net --sources all --time 1 --format columns", 2, "needs --out");
  expect("predict net --pairs p.csv --format columns --out x", 2, "not for --pairs");
  expect("predict net --pairs p.csv --exclude-seen", 2, "no effect on --pairs");
  expect("predict net --src 1 --time nan", 2, "it must be a finite number");
  expect("train net --split roll --boundary earlier --out r", 2, "--boundary has no effect on");
  expect("train net --until-epoch -3 --out r", 2, "--until-epoch");
  expect("train net --threads 100000 --out r", 2, "between 0 and 1024");
  expect("bench epoch --dat net", 2, "did you mean '--data'?");
  expect("bench epoch", 2, "Run 'curnm bench epoch --help'");
  expect("import net --out again", 1, "net is imported already");
  expect("train net --decoder additive --miner curnm --ablate pi --pi-strategy linear --out r", 2,
         "has no effect");
  fs::copy(folder_ / "net", folder_ / "n\xff", fs::copy_options::recursive);
  expect("train n\xff --out r", 1, "has to be UTF-8");
  expect("stats n\xff --json", 0, "");
  write("tiny.csv", "src,dst,time\n1,2,1\n1,3,2\n");
  expect("train tiny.csv --out r", 1, "too small to split");
  EXPECT_FALSE(fs::exists(folder_ / "r"));
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  expect("predict run --src nobody --time 5", 1, "node 'nobody' is not in the network");
  expect("predict run --src 3 --time 0", 1, "nothing has happened before time 0");
  expect("train --resume run --batch 5", 2, "--batch has no effect on a run that is resumed");
  expect("train --resume run --out r", 2, "--out has no effect");
  expect("train --resume run --preset default", 2, "--preset has no effect");
  expect("eval run --hidden-share 0", 2, "--hidden-share has no effect on the test of a trained");
  expect("eval run --protocol tran", 2, "did you mean 'trans'?");
  expect("eval run --model recency-dst", 2, "run is a run: --model is for rules on DATA");
  expect("eval run --protocol trans --rank-among 5000", 0, "ranks among all");
  expect("export run --out run/model", 1, "exists already");
  expect("export run --out m && " CURNM_BINARY " predict m --src 3 --time 2592000 --topk 1", 0, "");
  expect("export net --out m2", 3, "is not a run");
  expect("predict m --data tiny.csv --src 1 --time 5", 3, "is not the network that this model");
  expect("compare run run --x", 2, "unknown option");
  expect("compare run", 2, "runs");
  fs::remove(folder_ / "run/checkpoint");
  fs::remove(folder_ / "run/model");
  fs::remove(folder_ / "run/result.json");
  expect("export run --out m3", 1, "run is not finished");
  expect("compare run run", 1, "is not finished");
  expect("eval run", 1, "`curnm train --resume run` goes on");
  expect("predict run --src 3 --time 5", 1, "has no checkpoint yet");
  const FileLock training(folder_ / "run/options.json", "training");
  expect("eval run", 1, "its first epoch is being trained");
}

TEST_F(TrainCli, ARunOfAnOlderProgramIsNotContinuedByGuessing) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  json options = json::parse(read("run/options.json"));
  options["miner"].erase("corrupt");
  write("run/options.json", options.dump());
  const CommandResult resumed = curnm("train --resume run");
  EXPECT_EQ(resumed.exit_code, 3);
  EXPECT_TRUE(contains(resumed.err, "older program without --corrupt")) << resumed.err;
  EXPECT_EQ(curnm("eval run").exit_code, 0) << "but it can be tested";
}

TEST_F(TrainCli, PairsAreFoundByTheNamesOfTheirColumns) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  write("a.csv", "src,dst,time\n3,60,2592000\n");
  write("b.csv", "label,time,dst,src\n0,2592000,60,3\n");
  const CommandResult a = curnm("predict run --pairs a.csv");
  EXPECT_EQ(a.exit_code, 0) << a.err;
  EXPECT_EQ(curnm("predict run --pairs b.csv").out, a.out);
  write("c.csv", "src,dst,time\n3,60,5\n3,nobody,6\n");
  EXPECT_TRUE(contains(curnm("predict run --pairs c.csv --strict").err, "c.csv:3: node 'nobody'"));
  const CommandResult counted = curnm("predict run --pairs c.csv");
  EXPECT_EQ(counted.exit_code, 0) << counted.err;
  EXPECT_TRUE(counted.out.ends_with("\n3,nobody,6,\n")) << counted.out;
  EXPECT_TRUE(contains(counted.err, "1 of 2 pairs have a node that is not in the network"));
}

/// The objects of JSON lines.
std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

TEST_F(TrainCli, ManySourcesAreAnsweredAsOneByOne) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  const std::string rest = " --time 2592000 --topk 3 --format jsonl";
  const CommandResult all = curnm("predict run --sources all" + rest);
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.err, "");
  EXPECT_EQ(lines_of(all.out).size() % 3, 0U);
  std::string singles;
  for (const char* src : {"3", "7"}) {
    const std::string single = curnm("predict run --src " + std::string(src) + rest).out;
    EXPECT_TRUE(contains(all.out, single)) << single;
    singles += single;
  }
  write("some.txt", "user_id\n3\nnobody\n\n7\n");
  const CommandResult some = curnm("predict run --sources some.txt --out some.jsonl" + rest);
  ASSERT_EQ(some.exit_code, 0) << some.err;
  EXPECT_EQ(some.out, "");
  EXPECT_TRUE(contains(some.err, "the first line, user_id, is taken for the name of a column"));
  EXPECT_TRUE(contains(some.err, "1 of 3 sources are not in the network")) << some.err;
  std::vector<json> lines = lines_of(read("some.jsonl"));
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[3]["src"], "nobody");
  EXPECT_TRUE(lines[3]["dst"].is_null() && lines[3]["logit"].is_null());
  lines.erase(lines.begin() + 3);
  EXPECT_EQ(lines, lines_of(singles));
  const CommandResult strict = curnm("predict run --sources some.txt --strict" + rest);
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_TRUE(contains(strict.err, "some.txt:3: node 'nobody' is not in the network"));

  const std::string best = lines[0]["dst"];
  write("best.txt", best + "\n");
  const CommandResult chosen =
      curnm("predict run --sources some.txt --time 2592000 --candidates best.txt");
  EXPECT_TRUE(contains(chosen.out, "\n3," + best + ",2592000,0.")) << chosen.out;
  EXPECT_TRUE(contains(chosen.out, "\nnobody,,2592000,\n")) << chosen.out;
  EXPECT_EQ(std::count(chosen.out.begin(), chosen.out.end(), '\n'), 4);
}

TEST_F(TrainCli, AnswersAsColumns) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  write("some.txt", "3\nnobody\n7\n");
  const std::string ask = "predict run --sources some.txt --time 2592000 --topk 3 --format ";
  const CommandResult result = curnm(ask + "columns --out columns");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string src = read("columns/src.npy");
  const std::string dst = read("columns/dst.npy");
  const std::string logit = read("columns/logit.npy");
  ASSERT_EQ(src.size(), 128U + 3 * 8);
  ASSERT_EQ(dst.size(), 128U + 9 * 8);
  ASSERT_EQ(logit.size(), 128U + 9 * 4);
  EXPECT_TRUE(contains(dst, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,3,), }"));
  const std::vector<json> lines = lines_of(curnm(ask + "jsonl").out);
  ASSERT_EQ(lines.size(), 7U);
  std::vector<std::string> names;  // of nodes
  std::istringstream ids(read("columns/ids.csv"));
  for (std::string line; std::getline(ids, line);) names.push_back(line);
  for (std::size_t i = 0; i < 9; ++i) {
    std::int64_t node = 0;
    float value = 0;
    std::memcpy(&node, dst.data() + 128 + i * 8, 8);
    std::memcpy(&value, logit.data() + 128 + i * 4, 4);
    if (i / 3 == 1) {
      EXPECT_EQ(node, -1);
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    const json& line = lines[i < 3 ? i : i - 2];
    EXPECT_EQ(names[static_cast<std::size_t>(node) + 1], line["dst"]);
    EXPECT_EQ(value, line["logit"].get<float>());
  }
  EXPECT_TRUE(contains(curnm(ask + "columns --out columns").err, "exists already"));
}

TEST_F(TrainCli, EmbeddingsAreWrittenWithTheirNodes) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  const CommandResult result = curnm("embed run --time 2592000 --out z.npy");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string ids = read("z.ids.csv");
  const auto rows = std::count(ids.begin(), ids.end(), '\n') - 1;
  const std::string z = read("z.npy");
  EXPECT_TRUE(z.starts_with("\x93NUMPY"));
  EXPECT_TRUE(contains(
      z, "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ","));
  EXPECT_EQ((z.size() - 128) % (static_cast<std::size_t>(rows) * 4), 0U);
  ASSERT_EQ(curnm("embed run --time 1000000 --out early.npy").exit_code, 0);
  EXPECT_NE(read("early.npy"), z);
  EXPECT_EQ(read("early.ids.csv"), ids);
  EXPECT_EQ(curnm("embed run --time 2592000 --out z.txt").exit_code, 2);
}

TEST_F(TrainCli, ARunIsUsedFromAnywhereAndByOneProcess) {
  ASSERT_EQ(curnm(train("run", 1)).exit_code, 0);
  fs::create_directory(folder_ / "elsewhere");
  EXPECT_EQ(
      shell("cd elsewhere && " CURNM_BINARY " predict ../run --src 3 --time 2592000").exit_code, 0);
  const FileLock held(folder_ / "run/options.json", "training");
  const CommandResult second = curnm("train --resume run");
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_TRUE(contains(second.err, "another process is training run")) << second.err;
}

TEST_F(TrainCli, NotesSayWhereTimesAreTooFine) {
  std::string rows = "src,dst,time\n";
  for (int i = 0; i < 400; ++i) {
    rows += fmt::format("u{},v{},{}000000\n", i % 7, i % 11, 1000000 + 100 * i);
  }
  write("fine.csv", rows);
  const std::string flags = " --walk off --epochs 1 --hidden-share 0 --out ";
  EXPECT_TRUE(
      contains(curnm("train fine.csv --model tgn" + flags + "a").err, "give them in seconds"));
  EXPECT_FALSE(
      contains(curnm("train fine.csv --model dysat" + flags + "b").err, "give them in seconds"))
      << "dysat has no such encoding";
}

TEST_F(TrainCli, APresetIsWhatFlagsStartFrom) {
  ASSERT_EQ(
      curnm("train net --preset ranking --width 16 --epochs 1 --select batch --out r").exit_code,
      0);
  const json miner = json::parse(read("r/options.json"))["miner"];
  EXPECT_EQ(miner["contrast-gradient"], "gates") << "the preset's";
  EXPECT_EQ(miner["select"], "batch") << "the flag's";
}

TEST_F(TrainCli, BenchesPrintTheAgreedKeys) {
  const std::string small = " --data net --model jodie --width 16 --time-width 8 --batch 50 --json";
  const CommandResult step = curnm("bench step --miner curnm --steps 3 --compare plain" + small);
  ASSERT_EQ(step.exit_code, 0) << step.err;
  const json of_step = json::parse(step.out);
  for (const char* key :
       {"ms_per_step", "plain_ms_per_step", "gemm_gflops", "step_gflop", "peak_fraction"}) {
    EXPECT_GT(of_step[key].get<double>(), 0) << key;
  }
  for (const char* stage :
       {"propose", "sample", "embed", "mine", "backward", "optimise", "observe"}) {
    EXPECT_TRUE(of_step["stages"].contains(stage)) << stage;
  }
  const CommandResult epoch =
      curnm("bench epoch --miners random,curnm --pools 2,4 --epochs 1" + small);
  ASSERT_EQ(epoch.exit_code, 0) << epoch.err;
  const json rows = json::parse(epoch.out)["miners"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["relative"], 1.0);
  EXPECT_EQ(rows[2]["pool"], 4);
  EXPECT_GT(rows[2]["seconds_per_epoch"].get<double>(), 0);
}

TEST_F(TrainCli, ListAndDoctorAnswer) {
  const CommandResult list = curnm("list");
  EXPECT_EQ(list.exit_code, 0);
  for (const char* name :
       {"tgn", "jodie", "dysat", "random", "edgebank", "recency-src-dst", "trans"}) {
    EXPECT_TRUE(contains(list.out, name)) << name;
  }
  const CommandResult doctor = curnm("doctor");
  EXPECT_EQ(doctor.exit_code, 0);
  EXPECT_TRUE(contains(doctor.out, "GF/s")) << doctor.out;
}

TEST_F(TrainCli, APausedRunGoesOnToTheSameBits) {
  ASSERT_EQ(curnm(train("whole")).exit_code, 0);
  const CommandResult paused = curnm(train("parts") + " --until-epoch 1");
  EXPECT_EQ(paused.exit_code, 0) << paused.err;
  EXPECT_TRUE(contains(paused.err, "curnm train --resume parts")) << paused.err;
  EXPECT_FALSE(fs::exists(folder_ / "parts/result.json"));
  const CommandResult further = curnm("train --resume parts --until-epoch 2 --json");
  EXPECT_EQ(further.exit_code, 0) << further.err;
  EXPECT_EQ(json::parse(further.out)["state"], "paused");
  EXPECT_EQ(json::parse(further.out)["epochs"], 2);
  EXPECT_FALSE(fs::exists(folder_ / "parts/result.json"));
  EXPECT_EQ(curnm("train --resume parts").exit_code, 0);
  EXPECT_EQ(result("parts"), result("whole"));
}

}  // namespace
}  // namespace curnm
