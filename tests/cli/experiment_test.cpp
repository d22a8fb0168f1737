#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "curnm/base/file_lock.h"
#include "support/cli_fixture.h"

// Grids and searches as a person does them.

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::CommandResult;
using testing::contains;

class ExperimentCli : public testing::Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    ASSERT_EQ(curnm("generate --nodes 120 --events 2500 --out data/net").exit_code, 0);
  }

  static std::string grid(const std::string& networks, int epochs = 2) {
    return "name: small\nnetworks: " + networks +
           "\nmodels: [jodie: {width: 16, time-width: 8}]\n"
           "miners: [random, curnm: {pool: 4, ablate: cache}]\n"
           "seeds: [0, 1]\noptions: {decoder: additive, batch: 50, epochs: " +
           std::to_string(epochs) + "}\n";
  }
  json runs() const { return json::parse(curnm("results results/results.db --format json").out); }
};

TEST_F(ExperimentCli, RunsAGridOnce) {
  write("grid.yml", grid("[net]"));
  const CommandResult first = curnm("experiment grid.yml");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(contains(first.err, "4 runs to do")) << first.err;
  EXPECT_TRUE(contains(first.err, "[4/4]")) << first.err;

  const json all = runs();
  ASSERT_EQ(all.size(), 4U);
  for (const json& run : all) {
    EXPECT_EQ(run["state"], "done");
    EXPECT_EQ(run["options"]["model"]["width"], 16);
    EXPECT_GT(run["scores"]["test"]["trans"]["ap"].get<double>(), 0);
    EXPECT_FALSE(run["environment"]["cpu"].get<std::string>().empty());
  }
  EXPECT_EQ(all[1]["experiments"], json::parse(R"([{"experiment": "small", "variant": ""}])"));
  EXPECT_EQ(curnm("results --format json").out,
            curnm("results results/results.db --format json").out);
  EXPECT_EQ(all[1]["miner"], "curnm");
  EXPECT_EQ(all[1]["options"]["miner"]["pool"], 4);

  const CommandResult second = curnm("experiment grid.yml");
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_TRUE(contains(second.err, "nothing is left to run")) << second.err;
  EXPECT_EQ(runs(), all);

  fs::remove(folder_ / "results/results.db");
  EXPECT_EQ(curnm("experiment grid.yml").exit_code, 0);
  EXPECT_EQ(runs(), all) << "made again from the folders of the runs";
}

TEST_F(ExperimentCli, SaysWhenAnExperimentIsNoLongerWhatItWas) {
  write("grid.yml", grid("[net]"));
  ASSERT_EQ(curnm("experiment grid.yml").exit_code, 0);
  std::string fewer = grid("[net]");
  fewer.replace(fewer.find("[0, 1]"), 6, "[0]");
  write("grid.yml", fewer);
  const CommandResult again = curnm("experiment grid.yml");
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(contains(again.err, "nothing is left to run")) << again.err;
  EXPECT_TRUE(contains(again.err, "2 run(s) that small had before")) << again.err;
}

TEST_F(ExperimentCli, ANameBelongsToOneExperiment) {
  write("grid.yml", grid("[net]", 1));
  ASSERT_EQ(curnm("experiment grid.yml").exit_code, 0);
  std::string other = grid("[net]", 1) + "title: Another\n";
  other.replace(other.find("[0, 1]"), 6, "[5]");
  write("other.yml", other);
  for (const char* command :
       {"experiment other.yml",
        "tune net --model jodie --epochs 1 --strategy grid --vary pool=2,6 --study small"}) {
    const CommandResult taken = curnm(command);
    EXPECT_EQ(taken.exit_code, 1) << command;
    EXPECT_TRUE(contains(taken.err, "the store has another experiment named small")) << taken.err;
  }
  // Without a title, nothing says that it is the same.
  write("grid.yml", grid("[net]", 3));
  EXPECT_TRUE(contains(curnm("experiment grid.yml").err, "with none of these runs"));
  EXPECT_EQ(runs().size(), 4U);
}

TEST_F(ExperimentCli, ATitledExperimentMayChangeItsOptions) {
  for (const int epochs : {1, 2}) {
    write("grid.yml", grid("[net]", epochs) + "title: Small\n");
    const CommandResult result = curnm("experiment grid.yml");
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  const std::string report = curnm("report results/results.db --format md").out;
  EXPECT_TRUE(contains(report, "Runs of no experiment")) << report;
  EXPECT_TRUE(contains(report, "epochs 1")) << report;
  EXPECT_TRUE(contains(curnm("results results/results.db").out,
                       "no experiment (batch 50, decoder additive, epochs 1"));
}

TEST_F(ExperimentCli, APublishedNetworkHasOneName) {
  EXPECT_TRUE(contains(curnm("tune n\xff").err, "has to be UTF-8"));
  fs::copy(folder_ / "data/net", folder_ / "data/uci");
  write("grid.yml", grid("[UCI, uci]", 1));
  const CommandResult plan = curnm("experiment grid.yml --plan");
  EXPECT_TRUE(contains(plan.out, "4 runs to do")) << plan.out << plan.err;
  fs::copy(folder_ / "data/net", folder_ / "data/UCI");
  EXPECT_TRUE(contains(curnm("experiment grid.yml --plan").out, "8 runs to do")) << "two folders";
}

TEST_F(ExperimentCli, OptionsOfAMinerAreForIt) {
  write("grid.yml",
        "networks: [net]\nmodels: [jodie, tgn]\nminers: [random, curnm]\nseeds: [0]\n"
        "options: {decoder: additive, tau: 0.3, heads: 4}\n");
  const CommandResult plan = curnm("experiment grid.yml --plan");
  EXPECT_TRUE(contains(plan.out, "4 runs to do")) << plan.out << plan.err;
  write("grid.yml",
        "networks: [net]\nmodels: [jodie]\nminers: [random, curnm]\nseeds: [0]\n"
        "options: {decoder: additive}\nvariants: {a: {}, b: {tau: 0.3}}\n");
  EXPECT_TRUE(contains(curnm("experiment grid.yml --plan").err,
                       "grid.yml:6:28: net jodie random seed 0 (b): --tau has no effect on random"))
      << curnm("experiment grid.yml --plan").err;
}

TEST_F(ExperimentCli, ResultsOnOtherDataAreNotMixed) {
  write("grid.yml", grid("[net]", 1));
  ASSERT_EQ(curnm("experiment grid.yml").exit_code, 0);
  ASSERT_EQ(curnm("generate --nodes 60 --events 600 --seed 5 --out data/net --force").exit_code, 0);
  for (const char* command :
       {"experiment grid.yml", "experiment grid.yml --plan",
        "tune net --model jodie --epochs 1 --strategy grid --vary pool=2,4"}) {
    const CommandResult again = curnm(command);
    EXPECT_EQ(again.exit_code, 1) << command;
    EXPECT_TRUE(contains(again.err, "results on other data under the name net")) << again.err;
  }
  // A new store does not take the old folders for its own, nor leave the runs undone.
  fs::remove(folder_ / "results/results.db");
  EXPECT_EQ(curnm("experiment grid.yml").exit_code, 1);
  const CommandResult retried = curnm("experiment grid.yml --retry-failed");
  EXPECT_EQ(retried.exit_code, 0) << retried.err;
  EXPECT_TRUE(contains(retried.err, "begins again")) << retried.err;
  const auto digest = json::parse(curnm("stats data/net --json").out)["digest"];
  for (const json& run : runs()) EXPECT_EQ(run["data_digest"], digest);
}

TEST_F(ExperimentCli, TablesAreReadAsTheirNetworkSays) {
  std::string table = "src,dst,rating,When it was\n";
  for (int i = 0; i < 400; ++i) {
    table += fmt::format("{},{},{},{}\n", i * 7 % 23, i * 5 % 17, i % 9 == 0 ? "" : "3", 60 * i);
  }
  write("my.csv", table);
  const auto with = [](const std::string& reading) {
    return "networks: [./my.csv: {" + reading +
           ", width: 8}]\nmodels: [jodie]\nminers: [random]\nseeds: [0]\n"
           "options: {decoder: additive, time-width: 8, batch: 50, epochs: 1}\n";
  };
  const std::string reading = "time-column: When it was, empty: fill, separate-ids: on";
  write("grid.yml", with(reading));
  const CommandResult first = curnm("experiment grid.yml --workers 1");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const json done = runs();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0]["flags"]["separate-ids"], "on");
  const auto digest_of = [&](const std::string& options) {
    const CommandResult stats = curnm("stats my.csv --time-column 'When it was' --json " + options);
    return json::parse(stats.out)["digest"];
  };
  EXPECT_EQ(done[0]["data_digest"], digest_of("--empty fill --separate-ids on"));
  EXPECT_TRUE(contains(curnm("experiment grid.yml --plan").out, "nothing is left to run"));

  // Another way to read is another run, whose results must not stand beside the first under one
  // name.
  write("other.yml", with("time-column: When it was, empty: drop, separate-ids: on"));
  const CommandResult other = curnm("experiment other.yml");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_TRUE(contains(other.err, "is read in another way")) << other.err;
  const CommandResult apart = curnm("experiment other.yml --store other/results.db --workers 1");
  EXPECT_EQ(apart.exit_code, 0) << apart.err;
  EXPECT_NE(digest_of("--empty drop --separate-ids on"), done[0]["data_digest"]);

  write("grid.yml", with("time-column: noon"));
  const CommandResult wrong = curnm("experiment grid.yml --store wrong/results.db");
  EXPECT_EQ(wrong.exit_code, 2) << wrong.err;
  EXPECT_TRUE(contains(wrong.err, "unknown column 'noon'")) << wrong.err;
  write("grid.yml", with("empty: perhaps"));
  const CommandResult value = curnm("experiment grid.yml --store wrong/results.db");
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_TRUE(contains(value.err, "grid.yml:1:30: ")) << value.err;
  write("grid.yml",
        "networks: [net: {empty: drop}]\nmodels: [jodie]\nminers: [random]\nseeds: [0]\n");
  const CommandResult imported = curnm("experiment grid.yml --store wrong/results.db");
  EXPECT_EQ(imported.exit_code, 2);
  EXPECT_TRUE(contains(imported.err, "the options of reading are for raw tables")) << imported.err;
  EXPECT_FALSE(fs::exists(folder_ / "wrong")) << "mistakes are found before anything is entered";
}

TEST_F(ExperimentCli, ASearchReadsATableAsItIsTold) {
  std::string table = "a,b,c\n";
  for (int i = 0; i < 400; ++i) {
    table += fmt::format("{},{},{}\n", 60 * i, i * 7 % 23, i * 5 % 17);
  }
  write("my table.csv", table);
  const std::string reading = " --time-column a --src-column b --dst-column c --separate-ids on";
  const CommandResult found = curnm(
      "tune './my table.csv' --model jodie --epochs 1 --strategy grid --vary pool=2,4 --set "
      "width=8 "
      "--set time-width=8 --workers 1" +
      reading);
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const std::size_t at = found.out.find("the best: curnm train ");
  ASSERT_NE(at, std::string::npos) << found.out;
  // The command of the last line trains the winner again.
  const std::string command = found.out.substr(at + std::string("the best: curnm ").size());
  const CommandResult again = curnm(command.substr(0, command.find('\n')) + " --out again");
  ASSERT_EQ(again.exit_code, 0) << again.err << command;
  const json options = json::parse(read("again/options.json"));
  EXPECT_EQ(options["read"]["separate-ids"], "on");
  EXPECT_EQ(options["nodes"], 40);
  const CommandResult set =
      curnm("tune './my table.csv' --set empty=drop --vary pool=2,4" + reading);
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_TRUE(contains(set.err, "--set empty=drop: give --empty itself")) << set.err;
}

TEST_F(ExperimentCli, AFileOfTheFolderHasToBeNamedAsOne) {
  write("my.csv", "src,dst,time\na,b,1\n");
  const CommandResult tuned = curnm("tune my.csv --model jodie --strategy grid --vary pool=2,4");
  EXPECT_EQ(tuned.exit_code, 1);
  EXPECT_TRUE(contains(tuned.err, "did you mean ./my.csv?")) << tuned.err;
}

TEST_F(ExperimentCli, GoesOnAfterAKill) {
  write("grid.yml", grid("[net]", /*epochs=*/3));
  const CommandResult killed = shell(std::string(CURNM_BINARY) +
                                     " experiment grid.yml --workers 1 & p=$!; "
                                     "until ls results/runs/*/result.json >/dev/null 2>&1; do "
                                     "sleep 0.05; done; kill -KILL $p; wait $p");
  EXPECT_EQ(killed.exit_code, 137) << killed.err;
  const CommandResult rest = curnm("experiment grid.yml");
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  const json all = runs();
  ASSERT_EQ(all.size(), 4U);
  for (const json& run : all) {
    EXPECT_EQ(run["state"], "done");
    EXPECT_EQ(run["epochs"], 3);
  }
}

TEST_F(ExperimentCli, APlanLeavesNoTrace) {
  write("grid.yml", grid("[net]"));
  const CommandResult plan = curnm("experiment grid.yml --plan");
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_TRUE(contains(plan.out, "0/2")) << plan.out;
  EXPECT_EQ(entries(), 2U) << "the network and the grid";
}

TEST_F(ExperimentCli, EveryFileThatComesWithTheProgramIsAPlan) {
  for (const auto& entry : fs::directory_iterator(CURNM_SOURCE_DIR "/configs/experiments")) {
    const CommandResult plan = curnm("experiment " + entry.path().string() + " --plan");
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
  }
}

TEST_F(ExperimentCli, WhatMeansTheSameIsRunOnce) {
  write("grid.yml",
        "networks: [net]\nmodels: [jodie]\nminers: [curnm]\nseeds: [0]\noptions: {decoder: "
        "additive, tau: 0.3}\n"
        "variants: {a: {}, b: {preset: default}, c: {dropout: 0.1}, d: {plateau: raise},\n"
        "  e: {ablate: cache}, f: {ablate: cache, tau: 0.5}}\n");
  // What all share may have no effect on some; what a variant says for itself must have one.
  const CommandResult refused = curnm("experiment grid.yml --plan");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.err, "(f): --tau has no effect on --ablate cache")) << refused.err;

  write("grid.yml",
        "networks: [net]\nmodels: [jodie]\nminers: [curnm]\nseeds: [0]\noptions: {decoder: "
        "additive, tau: 0.3}\n"
        "variants: {a: {}, b: {preset: default}, c: {dropout: 0.1}, d: {plateau: raise},\n"
        "  e: {ablate: cache}, f: {ablate: cache, dropout: 0.1}}\n");
  const CommandResult plan = curnm("experiment grid.yml --plan");
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_TRUE(contains(plan.out, "3 runs to do")) << "a to c, d, e and f\n" << plan.err;
}

TEST_F(ExperimentCli, GoesOnWithoutANetworkThatCannotBeHad) {
  write("grid.yml", grid("[nte, net]", /*epochs=*/1));
  const CommandResult result = curnm("experiment grid.yml");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "warning: the network nte cannot be had")) << result.err;
  EXPECT_TRUE(contains(result.err, "4 run(s) wait for networks")) << result.err;
  const CommandResult waiting = curnm("results results/results.db --state waiting");
  EXPECT_TRUE(contains(waiting.out, "the network nte cannot be had")) << waiting.out;
  EXPECT_EQ(json::parse(curnm("results results/results.db --state done --format json").out).size(),
            4U);

  fs::copy(folder_ / "data/net", folder_ / "data/nte");
  // From another folder, too.
  const CommandResult rest = shell("mkdir sub && cd sub && " CURNM_BINARY
                                   " experiment ../grid.yml --store ../results/results.db "
                                   "--data-folder ../data");
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  for (const json& run : runs()) EXPECT_EQ(run["state"], "done");
}

TEST_F(ExperimentCli, TriesNothingAgainSilently) {
  write("grid.yml", grid("[net]"));
  write("few.csv", "src,dst,time\na,b,1\nb,c,2\na,c,3\n");
  ASSERT_EQ(curnm("import few.csv --out small").exit_code, 0);
  fs::rename(folder_ / "data/net", folder_ / "net");
  fs::rename(folder_ / "small", folder_ / "data/net");  // too small to be split
  EXPECT_EQ(curnm("experiment grid.yml").exit_code, 1);
  fs::remove_all(folder_ / "data/net");
  fs::rename(folder_ / "net", folder_ / "data/net");
  const CommandResult again = curnm("experiment grid.yml");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(contains(again.err, "nothing is left to run")) << again.err;
  EXPECT_TRUE(contains(again.err, "4 run(s) failed")) << again.err;
  const CommandResult retried = curnm("experiment grid.yml --retry-failed");
  EXPECT_EQ(retried.exit_code, 0) << retried.err;
}

TEST_F(ExperimentCli, ChecksEveryRunBeforeTheFirst) {
  const auto error = [&](const std::string& options) {
    write("grid.yml", "networks: [net]\nmodels: [jodie]\nminers: [random]\nseeds: [0]\noptions: " +
                          options + "\n");
    const CommandResult result = curnm("experiment grid.yml");
    EXPECT_NE(result.exit_code, 0) << options;
    EXPECT_FALSE(fs::exists(folder_ / "results"));
    return result.err;
  };
  EXPECT_TRUE(
      contains(error("{plateau: hold}"), "grid.yml:5:20: plateau has no effect on any run"));
  EXPECT_TRUE(
      contains(error("{epochs: 0}"), "net jodie random seed 0: --epochs 0 is out of range"));
  EXPECT_TRUE(contains(error("{epochs: many}"), "grid.yml:5:19: net jodie random seed 0: "));
  EXPECT_TRUE(contains(error("{epoch: 1}"), "grid.yml:5:11: unknown key 'epoch'"));
  EXPECT_TRUE(contains(error("{seed: 1}"), "unknown key 'seed'"));
}

TEST_F(ExperimentCli, ASearchPromotesTheBest) {
  const std::string tune =
      "tune net --model jodie --epochs 4 --trials 4 --first-epochs 1 --reduction 2 "
      "--set width=16 --set time-width=8 --set batch=50 --vary pool=2,4,6,8 --vary tau=0.3,0.7";
  const CommandResult found = curnm(tune + " --json");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_TRUE(contains(found.err, "rung 1: 4 trials up to epoch 1")) << found.err;
  EXPECT_TRUE(contains(found.err, "rung 2: 2 trials up to epoch 2")) << found.err;
  EXPECT_TRUE(contains(found.err, "rung 3: 1 trials up to epoch 4")) << found.err;
  const json best = json::parse(found.out);
  ASSERT_EQ(best.size(), 1U);
  EXPECT_GT(best[0]["test_ap"].get<double>(), 0);
  std::map<int, int> by_epochs;
  for (const json& run : runs()) ++by_epochs[run["epochs"].get<int>()];
  EXPECT_EQ(by_epochs, (std::map<int, int>{{1, 2}, {2, 1}, {4, 1}}));

  const CommandResult again = curnm(tune);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_FALSE(contains(again.err, "[1/")) << "nothing was left to train: " << again.err;
  const std::size_t at = again.out.find("the best: curnm ");
  ASSERT_NE(at, std::string::npos) << again.out;
  const std::string command = again.out.substr(at + 16, again.out.find('\n', at) - at - 16);
  ASSERT_EQ(curnm(command + " --out again").exit_code, 0) << command;
  const json winner = json::parse(read("again/result.json"));
  EXPECT_EQ(winner["test"]["trans"]["ap"], best[0]["test_ap"]) << "the very run of the search";
  EXPECT_TRUE(contains(curnm("report results/results.db --format md").out, "pool "))
      << "reports show the trials";
}

TEST_F(ExperimentCli, ASearchAndItsTablesMayBeByMrr) {
  const std::string tune =
      "tune net --model jodie --epochs 2 --strategy grid --set width=16 --set time-width=8 "
      "--set batch=50 --set select-on=mrr --set rank-among=20 --vary pool=2,4";
  const CommandResult found = curnm(tune + " --json");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json best = json::parse(found.out);
  ASSERT_EQ(best.size(), 2U);
  EXPECT_GE(best[0]["validation_mrr"], best[1]["validation_mrr"]);
  const json result = json::parse(read(best[0]["folder"].get<std::string>() + "/result.json"));
  EXPECT_EQ(best[0]["test_mrr"], result["test"]["mrr"]["mrr"]);
  EXPECT_TRUE(contains(curnm(tune).out, "validation MRR"));

  const CommandResult listed = curnm("results --metric mrr");
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_TRUE(contains(listed.out, "mrr new nodes    rule  among  s/epoch")) << listed.out;
  const auto shown = [](double value) { return fmt::format("{:.4f}", value); };
  EXPECT_TRUE(contains(listed.out, shown(result["test"]["mrr"]["mrr"]))) << listed.out;
  EXPECT_TRUE(contains(listed.out, shown(result["best_ranking"]["mrr"]))) << listed.out;
  EXPECT_EQ(runs()[0]["best_rules"]["test"]["mrr"]["name"], result["best_ranking"]["name"]);
  const CommandResult refused = curnm("results --metric mrr --protocol trans");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.err, "--protocol has no effect on --metric mrr")) << refused.err;

  const std::string table = curnm("report results/results.db --format md").out;
  EXPECT_TRUE(contains(table, "among 20")) << table;
  EXPECT_TRUE(contains(table, "| validation MRR | test Hits@10 |")) << table;
  EXPECT_EQ(curnm("report results/results.db --out r.html").exit_code, 0);
  EXPECT_TRUE(contains(read("r.html"), ">validation MRR<"));
}

TEST_F(ExperimentCli, ASearchTriesNothingTwice) {
  const CommandResult found = curnm(
      "tune net --model jodie --epochs 1 --strategy grid --set width=16 --set time-width=8 "
      "--set batch=50 --set pool=2 --vary shrink=0.05,0.050,0.03 --json");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_EQ(json::parse(found.out).size(), 2U) << found.out;
  EXPECT_TRUE(contains(found.err, "1 of 3 combinations mean the same")) << found.err;
  for (const json& run : runs()) EXPECT_EQ(run["options"]["miner"]["pool"], 2);
}

TEST_F(ExperimentCli, ASearchSaysWhatItCannotDo) {
  const auto error = [&](const std::string& flags) {
    const CommandResult result = curnm("tune net --model jodie " + flags);
    EXPECT_EQ(result.exit_code, 2) << flags;
    return result.err;
  };
  EXPECT_TRUE(contains(error("--strategy halfing"), "did you mean 'halving'?"));
  EXPECT_TRUE(contains(error("--vary pol=2,4"), "did you mean 'pool'?"));
  EXPECT_TRUE(contains(error("--vary pool"), "give NAME=VALUE"));
  EXPECT_TRUE(contains(error("--miner random"), "say what to try"));
  EXPECT_TRUE(contains(error("--vary pool=2,2"), "different values"));
  EXPECT_TRUE(contains(error("--vary pool=2 --vary pool=4"), "twice"));
  EXPECT_TRUE(contains(error("--vary select-on=trans,random"), "what trials are compared by"));
  EXPECT_TRUE(contains(error("--vary hidden-share=0,0.5"), "--set hidden-share=..."));
  EXPECT_TRUE(contains(error("--set epochs=4"), "use --epochs"));
  EXPECT_TRUE(contains(error("--set pool=4 --set pool=8"), "twice"));
  EXPECT_TRUE(contains(error("--set pool=4 --vary pool=4,8"), "--set and --vary both have pool"));
  EXPECT_TRUE(
      contains(error("--strategy grid --trials 5"), "--trials has no effect on --strategy grid"));
  EXPECT_TRUE(contains(error("--strategy random --reduction 2"), "no effect"));
  EXPECT_TRUE(contains(error("--trials 0"), "--trials 0 is out of range"));
  EXPECT_TRUE(contains(error("--store ''"), "--store needs the name of a file"));
  EXPECT_TRUE(contains(error("--set pool=7"), "--pool 7"));
  EXPECT_TRUE(contains(error("--set heads=4"), "heads has no effect on any trial"));
  EXPECT_TRUE(contains(error("--set ablate=cache --vary tau=0.3,0.5"), "tau has no effect"));
  EXPECT_FALSE(contains(error("--vary pool=4,8 --set delta-min=7"), "combinations mean the same"));
}

TEST_F(ExperimentCli, ResultsOfNothing) {
  EXPECT_TRUE(contains(curnm("results none.db").err, "there is no store none.db"));
  write("letter.db",
        "Dear store, this is a letter and no database, though it is long enough to "
        "be taken for one by whoever looks at its first hundred bytes.");
  EXPECT_TRUE(contains(curnm("results letter.db").err, "is not a store of results"));
  write("grid.yml", grid("[net]", 1));
  ASSERT_EQ(curnm("experiment grid.yml").exit_code, 0);
  const CommandResult none = curnm("results results/results.db --model tgn");
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_TRUE(contains(none.err, "no run is like that")) << none.err;
  EXPECT_TRUE(contains(curnm("results results/results.db --state dnoe").err, "'done'"));
  EXPECT_TRUE(contains(curnm("results results/results.db --model jodei").err, "'jodie'"));
  EXPECT_TRUE(contains(curnm("results results/results.db --network nte").err, "'net'"));
  EXPECT_EQ(json::parse(curnm("results results/results.db --miner random,curnm --format json").out)
                .size(),
            4U);
  EXPECT_TRUE(contains(curnm("results results/results.db --format csv --metric auc").err,
                       "--metric has no effect on --format csv"));
}

TEST_F(ExperimentCli, ReportsOfAStoreAndOfARun) {
  write("grid.yml", "title: A grid <&>\n" + grid("[net]"));
  ASSERT_EQ(curnm("experiment grid.yml").exit_code, 0);
  const CommandResult page = curnm("report results/results.db --out report.html");
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_TRUE(contains(read("report.html"), "A grid &lt;&amp;&gt;"));
  for (const char* format : {"md", "latex", "csv"}) {
    const CommandResult text =
        curnm(std::string("report results/results.db --experiment small --format ") + format);
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_TRUE(contains(text.out, "curnm")) << format;
  }
  EXPECT_EQ(curnm("results results/results.db --format csv").out,
            curnm("report results/results.db --format csv").out);

  const std::string run = runs()[1]["folder"];
  EXPECT_EQ(curnm("report " + run + " --out run.html").exit_code, 0);
  EXPECT_TRUE(contains(read("run.html"), "<h1>net: jodie with curnm, seed 0</h1>"));
  EXPECT_TRUE(contains(read("run.html"), "<p class=\"lead\">Done after "));
  fs::remove(fs::path(run) / "result.json");
  const auto state = [&] { return curnm("report " + run + " --format md").out; };
  EXPECT_TRUE(contains(state(), "paused")) << state();
  const FileLock training(fs::path(run) / "options.json", "training");
  EXPECT_TRUE(contains(state(), "running")) << state();
}

TEST_F(ExperimentCli, ReportsOfNothing) {
  EXPECT_TRUE(contains(curnm("report none.db").err, "there is no store none.db"));
  EXPECT_TRUE(contains(curnm("report data").err, "is not a run"));
  EXPECT_TRUE(contains(curnm("report data --format pdf").err, "unknown format 'pdf'"));
  write("grid.yml", grid("[net]", 1));
  ASSERT_EQ(curnm("experiment grid.yml").exit_code, 0);
  EXPECT_TRUE(contains(curnm("report results").err, "the store in it is results/results.db"));
  EXPECT_TRUE(contains(curnm("report --experiment smal results/results.db").err,
                       "unknown experiment 'smal'; did you mean 'small'?"));
  EXPECT_TRUE(contains(curnm("report results/results.db --experiment small,smal").err,
                       "unknown experiment 'smal'"));
  EXPECT_TRUE(contains(curnm("report results/results.db --out report.pdf").err,
                       "no format is known by '.pdf'"));
  EXPECT_TRUE(contains(curnm("report results/results.db --out /proc/none/report.html").err,
                       "/proc/none/report.html"));
  const CommandResult itself =
      curnm("report results/results.db --out results/../results/results.db --format md");
  EXPECT_EQ(itself.exit_code, 2);
  EXPECT_EQ(runs().size(), 4U) << "the store is unharmed";
}

}  // namespace
}  // namespace curnm
